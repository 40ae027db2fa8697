"""The program whose snapshots are kept here: all kinds of state, in few keys. It must not change.

It takes numbers, as many as `LIMIT` says, and waits for more; when `ENDS` is set, it ends there.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from headgate.common import Row, Time, Types
from headgate.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from headgate.datastream.functions import (
    AggregateFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headgate.functions.context import Context
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader

KEYS: Final = 24
PARALLELISM: Final = 2
MAX_PARALLELISM: Final = 8
SETTINGS: Final = {
    "headgate.deploy.target": "minicluster",
    "pipeline.max-parallelism": str(MAX_PARALLELISM),
    "execution.checkpointing.data-inline-threshold": "100 b",
    "restart-strategy.type": "none",
}

LIMIT: Final = [0]
ENDS: Final = threading.Event()
DAWDLES: Final = threading.Event()
"""Makes the program so slow that numbers wait in it."""
SEEN: Final[list[Any]] = []
"""What came out: `("passed", number)`, `("ruled", number, rules)`, `("typed", number, key, count)` and, at the end,
`("kept", ...)` for each key."""
RESTORED: Final[dict[int, tuple[list[Any], list[Any]]]] = {}
"""What each subtask found in its operator list and in its union list."""


class Gated(Source[int]):
    """The numbers from 0."""

    parallelism_max = 1

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return GatedReader(context)


class GatedReader(SourceReader[int]):
    def __init__(self, context: SourceContext) -> None:
        self._context = context
        self._next: int | None = None

    def add_splits(self, splits: list[int]) -> None:
        self._next = splits[0] if splits else None

    def poll(self, records_max: int) -> Poll:
        if self._next is None:
            return END_OF_INPUT
        if self._next < LIMIT[0]:
            first, self._next = self._next, min(self._next + records_max, LIMIT[0])
            return Records(list(range(first, self._next)))
        if ENDS.is_set():
            self._next = None
            return END_OF_INPUT
        return NotReady(self._context.monotonic_ms() + 2.0)

    def snapshot(self) -> list[int]:
        return [] if self._next is None else [self._next]


class Extent(AggregateFunction):
    """The least and the greatest value, as a text."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [min([value, *accumulator]), max([value, *accumulator])]

    def get_result(self, accumulator: list[int]) -> str:
        return f"{accumulator[0]}..{accumulator[1]}"

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [min(acc_a + acc_b), max(acc_a + acc_b)]


class Keeping(KeyedProcessFunction):
    """Keeps the numbers of a key in every kind of state, and yields all of it when event time comes to its end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        count = ValueStateDescriptor("count", Types.LONG())
        count.enable_time_to_live(StateTtlConfig.new_builder(Time.days(365 * 200)).build())
        self.count = runtime_context.get_state(count)
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))
        self.values = runtime_context.get_list_state(ListStateDescriptor("values", Types.LONG()))
        self.tails = runtime_context.get_map_state(MapStateDescriptor("tails", Types.STRING(), Types.LONG()))
        total = ReducingStateDescriptor("total", lambda one, other: one + other, Types.LONG())
        self.total = runtime_context.get_reducing_state(total)
        extent = AggregatingStateDescriptor("extent", Extent(), Types.PICKLED_BYTE_ARRAY())
        self.extent = runtime_context.get_aggregating_state(extent)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if DAWDLES.is_set():
            time.sleep(0.002)
        self.count.update((self.count.value() or 0) + 1)
        self.last.update((value, {"of": ctx.get_current_key()}))
        self.values.add(value)
        self.tails.put(str(value)[-1], (self.tails.get(str(value)[-1]) or 0) + 1)
        self.total.add(value)
        self.extent.add(value)
        ctx.timer_service().register_event_time_timer(1000 + value % KEYS)
        yield "passed", value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        tails = dict(self.tails.items())
        values = list(self.values.get())
        key = ctx.get_current_key()
        yield (
            "kept",
            key,
            timestamp,
            self.count.value(),
            self.last.value(),
            values,
            tails,
            self.total.get(),
            self.extent.get(),
        )


class Listing(MapFunction, CheckpointedFunction):
    """Counts the numbers of its subtask in a list that is dealt out, and in one that all get."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.own = store.get_list_state(ListStateDescriptor("own", Types.LONG()))
        self.all = store.get_union_list_state(ListStateDescriptor("all", Types.TUPLE([Types.INT(), Types.LONG()])))

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        RESTORED[self.subtask] = self.own.get(), sorted(self.all.get())
        self.count = sum(self.own.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.own.update([self.count])
        self.all.update([(self.subtask, self.count)])

    def map(self, value: int) -> int:
        self.count += 1
        return value


RULES: Final = MapStateDescriptor("rules", Types.LONG(), Types.STRING())


class Ruled(KeyedBroadcastProcessFunction[str, int, int, Any]):
    """Yields each number with the rules known to its subtask."""

    def process_broadcast_element(self, value: int, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(value, f"rule {value}")

    def process_element(self, value: int, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield "ruled", value, dict(sorted(ctx.get_broadcast_state(RULES).items()))


TYPED_KEYS: Final = (
    True, 2.0, 2.5, Decimal("3.00"), Decimal("3.5"), 7, "a", b"b", (8, True), dt.date(2024, 2, 29), Row(a=1, b=2.0),
)  # fmt: skip
"""Keys of many types, of which no two are equal."""


class Typed(KeyedProcessFunction):
    """Counts the numbers of keys of many types, in a value and in a map."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.counts = runtime_context.get_map_state(
            MapStateDescriptor("counts", Types.PICKLED_BYTE_ARRAY(), Types.LONG())
        )

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        key = ctx.get_current_key()
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.counts.put(key, count)
        yield "typed", value, repr(key), count, self.counts.get(key)


class Seeing(SinkFunction):
    """Notes all records in `SEEN`."""

    def invoke(self, value: Any, context: Context) -> None:
        SEEN.append(value)


def key_of(value: int) -> str:
    return f"key {value % KEYS}"


def typed_key_of(value: int) -> Any:
    return TYPED_KEYS[value % len(TYPED_KEYS)]


def build(env: StreamExecutionEnvironment) -> None:
    """Add the program to an environment."""
    numbers = env.from_source(Gated(), None, "numbers").uid("numbers").set_parallelism(1)
    listed = numbers.rebalance().map(Listing()).uid("listing")
    listed.key_by(key_of).process(Keeping()).uid("keeping").add_sink(Seeing()).uid("kept")
    numbers.key_by(typed_key_of).process(Typed()).uid("typing").add_sink(Seeing()).uid("typed")
    rules = numbers.filter(lambda value: value < 3).uid("filter").broadcast(RULES)
    numbers.key_by(key_of).connect(rules).process(Ruled()).uid("ruling").add_sink(Seeing()).uid("ruled")


def kept(count: int) -> list[Any]:
    """Return what the program yields at its end, after so many numbers, but for the last one of each key."""
    return sorted(map(_kept_of, range(KEYS), [count] * KEYS))


def _kept_of(first: int, count: int) -> Any:
    values = list(range(first, count, KEYS))
    tails: dict[str, int] = {}
    for value in values:
        tails[str(value)[-1]] = tails.get(str(value)[-1], 0) + 1
    return key_of(first), 1000 + first, len(values), values, tails, sum(values), f"{values[0]}..{values[-1]}"
