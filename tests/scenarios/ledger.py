"""A keyed program that keeps what it has seen in every kind of state, and what must come out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from headgate.common import Types
from headgate.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from headgate.datastream.functions import AggregateFunction
from headgate.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headgate.functions.context import Context
from headgate.state.keygroups import key_group, subtask_of_group
from headgate.types.keys import hash_code
from tests.scenarios.paced import HURRY, Paced
from tests.scenarios.runs import MAX_PARALLELISM

KEYS: Final = 97
BURST: Final = 3 * KEYS
"""Records that come at once: then all keys are there, and a checkpoint finds few of them changed."""

SEEN: list[Any] = []
"""What the sink of the last run was given, in order."""


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


class Ledger(KeyedProcessFunction):
    """Yields `(key, subtask, count, values, tails, total, extent)`: all that was seen of the key, in five forms."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.values = runtime_context.get_list_state(ListStateDescriptor("values", Types.LONG()))
        self.tails = runtime_context.get_map_state(MapStateDescriptor("tails", Types.STRING(), Types.LONG()))
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda one, other: one + other, Types.LONG())
        )
        extent = AggregatingStateDescriptor("extent", Extent(), Types.PICKLED_BYTE_ARRAY())
        self.extent = runtime_context.get_aggregating_state(extent)
        self.seal = runtime_context.get_state(ValueStateDescriptor("seal", Types.STRING()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.values.add(value)
        tail = str(value)[-1]
        self.tails.put(tail, (self.tails.get(tail) or 0) + 1)
        self.total.add(value)
        self.extent.add(value)
        seal = ctx.get_current_key() * 100  # so much that state needs files of its own
        assert self.seal.value() == (None if self.count.value() == 1 else seal)
        self.seal.update(seal)
        yield (
            ctx.get_current_key(),
            self.subtask,
            self.count.value(),
            list(self.values.get()),
            dict(self.tails.items()),
            self.total.get(),
            self.extent.get(),
        )


class Seeing(SinkFunction):
    """Notes all records in `SEEN`."""

    def invoke(self, value: Any, context: Context) -> None:
        SEEN.append(value)


def key_of(value: int) -> str:
    return f"key {value % KEYS}"


def numbers(env: StreamExecutionEnvironment, count: int, burst: int) -> DataStream:
    """Return the numbers from 0, the first of them at once and the rest slowly; the source keeps its one subtask."""
    return env.from_source(Paced(count, burst), None, "numbers").uid("numbers").set_parallelism(1)


def written(env: StreamExecutionEnvironment, count: int, burst: int = BURST) -> DataStream:
    """Return the entries of the ledger of some numbers, in order for each key."""
    return numbers(env, count, burst).key_by(key_of).process(Ledger()).uid("ledger")


def seen_of(stream: DataStream) -> None:
    """End a stream in `SEEN`."""
    SEEN.clear()
    HURRY.clear()
    stream.add_sink(Seeing()).uid("seen")


def check_prefix(parallelism: int) -> None:
    """Assert that each entry in `SEEN` is what one run without a fault would have."""
    assert SEEN
    for entry in SEEN:
        assert entry == (wanted := _expected(entry[0], entry[2], parallelism)), f"{entry} instead of {wanted}"


def check_seen(parallelism: int, count: int) -> None:
    """Assert that each entry in `SEEN` is what one run without a fault would have, and that the last are complete."""
    check_prefix(parallelism)
    last = {entry[0]: entry[2] for entry in SEEN}
    assert last == Counter(key_of(value) for value in range(count))


def _expected(key: str, count: int, parallelism: int) -> Any:
    """Return the entry of a key after so many records of it."""
    first = int(key.split()[1])
    values = [first + index * KEYS for index in range(count)]
    tails = Counter(str(value)[-1] for value in values)
    subtask = subtask_of_group(key_group(hash_code(key), MAX_PARALLELISM), parallelism, MAX_PARALLELISM)
    return key, subtask, count, values, dict(tails), sum(values), f"{values[0]}..{values[-1]}"
