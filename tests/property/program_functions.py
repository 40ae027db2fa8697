"""Functions of random programs. What a program emits in all does not depend on the order of records between keys.

A record is a tuple of three numbers: a time, what keys are made of, and a value. Functions with state put out what they
have gathered when the key or a span of time is over; the running ones need records in a known order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from headgate.datastream.functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
)
from headgate.functions.api import AggregateFunction
from headgate.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types
from tests.unit.operators.functions import time_of

Record = tuple[int, int, int]

SEEN: Final[defaultdict[str, list[Any]]] = defaultdict(list)
"""What sinks were given, by their names."""

ANY: Final = Types.PICKLED_BYTE_ARRAY()
SIDE: Final = OutputTag("side", ANY)
RULES: Final = MapStateDescriptor("rules", Types.LONG(), Types.LONG())
END: Final = 2**60
"""A time behind those of all records."""
SPAN: Final = 10
VALUES: Final = 1009

KEYS: Final[dict[str, Callable[[Record], Any]]] = {
    "int": lambda record: record[1],
    "str": lambda record: f"key {record[1]}",
    "tuple": lambda record: (record[1] % 3, str(record[1])),
    "equal": lambda record: (int, float, truth)[record[2] % 3](record[1]),
    "one": lambda record: "all",
}


def truth(number: int) -> int:
    """The number, as a bool where that is the same key."""
    return bool(number) if number in (0, 1) else number


def number_of(key: Any) -> int:
    """A number that is the same for equal keys."""
    if isinstance(key, tuple):
        return int(key[1])
    return len(key) if isinstance(key, str) else int(key)


class Gather(SinkFunction):
    def __init__(self, name: str) -> None:
        self.name = name

    def invoke(self, value: Any, context: Any) -> None:
        SEEN[self.name].append(value)


class Aside(ProcessFunction):
    """Every third record goes aside; times are made part of the value."""

    def process_element(self, value: Record, ctx: ProcessFunction.Context) -> Iterator[Any]:
        time = time_of(ctx)
        if value[2] % 3 == 0:
            yield SIDE, (value[0], value[1], -1 if time is None else time % VALUES)
        yield value[0], value[1], value[2] + (0 if time is None else time % 7)


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> int:
        return accumulator[0] // accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class States:
    """One of each kind of keyed state, and what to do with a value and in the end."""

    def __init__(self, context: RuntimeContext) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.values = context.get_list_state(ListStateDescriptor("values", Types.LONG()))
        self.most = context.get_map_state(MapStateDescriptor("most", Types.LONG(), Types.LONG()))
        self.total = context.get_reducing_state(ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG()))
        self.mean = context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def add(self, value: Record) -> None:
        number = value[2]
        self.count.update((self.count.value() or 0) + 1)
        self.values.add(number)
        self.most.put(number % 4, max(number, self.most.get(number % 4) or 0))
        self.total.add(number)
        self.mean.add(number)

    def digest(self) -> int:
        """A number that everything has a part in."""
        mapped = sum((1 + key) * value for key, value in self.most.items())
        listed = sum(place * value for place, value in enumerate(sorted(self.values.get() or ()), 1))
        return int((self.count.value() or 0) + listed + mapped + (self.total.get() or 0) + (self.mean.get() or 0))

    def clear(self, which: int) -> None:
        """Forget some of it."""
        states: tuple[Any, ...] = (self.count, self.values, self.most, self.total, self.mean)
        for place, state in enumerate(states):
            if which >> place & 1:
                state.clear()


class GatherByKey(KeyedProcessFunction):
    """Puts out what a key comes to at its end, forgets a part, and emits the rest a little later."""

    def __init__(self, forgets: int) -> None:
        self.forgets = forgets

    def open(self, runtime_context: RuntimeContext) -> None:
        self.states = States(runtime_context)

    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        self.states.add(value)
        ctx.timer_service().register_event_time_timer(END)
        if value[2] % 5 == 0:
            ctx.timer_service().register_event_time_timer(END + 3)
            ctx.timer_service().delete_event_time_timer(END + 3)
        if value[2] % 4 == 0:
            yield SIDE, (value[0], number_of(ctx.get_current_key()), value[2])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if timestamp == END:
            self.states.clear(self.forgets)
            ctx.timer_service().register_event_time_timer(END + 5)
        result = timestamp % VALUES, number_of(ctx.get_current_key()), self.states.digest() % VALUES
        yield SIDE, result
        yield result


class Spans(KeyedProcessFunction):
    """Counts and adds up by spans of event time; a record without a time belongs to the last one."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.spans = runtime_context.get_map_state(MapStateDescriptor("spans", Types.LONG(), Types.LONG()))

    def process_element(self, value: Record, ctx: Any) -> None:
        time = time_of(ctx)
        end = END if time is None else (time // SPAN + 1) * SPAN - 1
        self.spans.put(end, (self.spans.get(end) or 0) + value[2] + 1)
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp % VALUES, number_of(ctx.get_current_key()), (self.spans.get(timestamp) or 0) % VALUES
        self.spans.remove(timestamp)


class Running(KeyedProcessFunction):
    """Makes something of each record and of all before it: for records in a known order."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.so_far = runtime_context.get_state(ValueStateDescriptor("so far", Types.LONG()))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        so_far = ((self.so_far.value() or 0) * 7 + value[2]) % VALUES
        if so_far % 11 == 0:
            self.so_far.clear()
        else:
            self.so_far.update(so_far)
        yield value[0], value[1], so_far


class MapBoth(CoMapFunction):
    def map1(self, value: Record) -> Record:
        return value[0], value[1], value[2] + 1

    def map2(self, value: Record) -> Record | None:
        return None if value[2] % 2 else (value[0], value[1] + 1, value[2])


class FlatMapBoth(CoFlatMapFunction):
    def flat_map1(self, value: Record) -> Iterator[Record]:
        yield from [value] * (value[2] % 3)

    def flat_map2(self, value: Record) -> Iterator[Record]:
        yield value


class ProcessBoth(CoProcessFunction):
    def process_element1(self, value: Record, ctx: Any) -> Iterator[Any]:
        yield value
        yield SIDE, value

    def process_element2(self, value: Record, ctx: Any) -> Iterator[Any]:
        yield value[0], value[1], (time_of(ctx) or 0) % VALUES


class GatherBoth(KeyedCoProcessFunction):
    """Both streams add to the state of the key; at its end it is emitted."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.states = States(runtime_context)

    def process_element1(self, value: Record, ctx: Any) -> None:
        self.states.add(value)
        ctx.timer_service().register_event_time_timer(END)

    def process_element2(self, value: Record, ctx: Any) -> None:
        self.states.add((value[0], value[1], 3 * value[2]))
        ctx.timer_service().register_event_time_timer(END + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp % VALUES, number_of(ctx.get_current_key()), self.states.digest() % VALUES


class ByRules(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Applies the rules to what a key has gathered, at its end: all rules are there by then in either mode."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Record, ctx: Any) -> None:
        self.total.update((self.total.value() or 0) + value[2])
        ctx.timer_service().register_event_time_timer(END)

    def process_broadcast_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[1], max(value[2], rules.get(value[1]) or 0))
        yield SIDE, value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        rules = sum((1 + key) * rule for key, rule in ctx.get_broadcast_state(RULES).items())
        yield timestamp % VALUES, number_of(ctx.get_current_key()), (self.total.value() * (1 + rules)) % VALUES


class WithRules(BroadcastProcessFunction[Any, Any, Any]):
    """Notes rules, which records go by that come later; here nothing follows from them."""

    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value[1], value[2])
        yield value[0], value[1], value[2] + 1
