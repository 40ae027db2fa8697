"""Programs for the simulator: good ones, and some with the mistakes that users make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from headgate.common import Duration, Types, WatermarkStrategy
from headgate.common.watermark_strategy import TimestampAssigner
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import DataStream, EmbeddedRocksDBStateBackend, StreamExecutionEnvironment
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.datastream.functions import KeyedProcessFunction, RuntimeContext
from headgate.datastream.state import ValueStateDescriptor

WORDS = ["tea", "milk", "tea", "sugar"] * 25


class Numbered(KeyedProcessFunction):
    """Gives each record of a key its number."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterable[tuple[str, int]]:
        number = (self.count.value() or 0) + 1
        self.count.update(number)
        yield value, number


class Careless(KeyedProcessFunction):
    """Keeps its numbers in an attribute."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterable[tuple[str, int]]:
        self.counts[value] += 1
        yield value, self.counts[value]


class NotAgain(KeyedProcessFunction):
    """Cannot bear to be restored."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.begun = runtime_context.get_state(ValueStateDescriptor("begun", Types.BOOLEAN()))
        self.own: set[str] = set()

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterable[str]:
        if self.begun.value() and value not in self.own:
            raise RuntimeError(f"{value} is unknown here")
        self.begun.update(True)
        self.own.add(value)
        yield value


class AtTheEnd(KeyedProcessFunction):
    """Counts a key, and emits the count when event time has come to its end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1_000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[tuple[int, int | None]]:
        yield ctx.get_current_key(), self.count.value()


class Identity(TimestampAssigner):
    """The timestamp of a number is the number."""

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def numbered(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(WORDS).key_by(str).process(Numbered())


def careless(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(WORDS).key_by(str).process(Careless())


def not_again(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(WORDS).key_by(str).process(NotAgain())


def two_streams(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Reads several splits, in event time, on RocksDB; what it emits does not depend on their order."""
    env.set_state_backend(EmbeddedRocksDBStateBackend())
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)).with_timestamp_assigner(Identity())
    numbers = env.from_source(NumberSequenceSource(1, 150), strategy, "numbers")
    return {"odd": numbers.filter(lambda n: n % 2 == 1), "counts": numbers.key_by(lambda n: n % 3).process(AtTheEnd())}


def as_lists(env: StreamExecutionEnvironment) -> DataStream:
    """Emits what cannot be hashed."""
    return env.from_collection(WORDS).map(lambda word: {"word": [word], "letters": set(word)})


def running_total(env: StreamExecutionEnvironment) -> DataStream:
    """Adds up two inputs: the totals on the way depend on which comes first, the last one does not."""
    ones, tens = env.from_collection([1] * 60), env.from_collection([10] * 60)
    return ones.union(tens).key_by(lambda n: 0).reduce(lambda a, b: a + b)


def highest(records: list[Any]) -> Any:
    return max(records)


def endless(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(DataGeneratorSource(str), None, "forever")


def nothing(env: StreamExecutionEnvironment) -> None:
    env.from_collection(WORDS).print()


def badly_named(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    return {"my.words": env.from_collection(WORDS)}


def failing(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([3, 2, 1, 0]).map(lambda n: 6 // n)
