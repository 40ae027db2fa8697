"""Programs with windows for the simulator: what they emit depends on nothing that goes wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, final

from headgate.common import WatermarkStrategy
from headgate.datastream import (
    AggregateFunction,
    DataStream,
    KeyedStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.datastream.state import ValueStateDescriptor
from headgate.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headgate.types.typeinfo import Types

RECORDS: Final = 240
KEYS: Final = 5


def _time_of(number: int, _: int) -> int:
    """Return a time with gaps, in order within each split of the source."""
    return number * 7 + (number // 30) * 100


def numbers(env: StreamExecutionEnvironment) -> KeyedStream:
    """Return numbers by key, with event time."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_time_of)
    source = env.from_source(NumberSequenceSource(1, RECORDS), strategy, "numbers")
    return source.key_by(lambda number: number % KEYS)


class Gathered(AggregateFunction):
    """The numbers of a window, in a list that is changed in place."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[int]) -> tuple[int, ...]:
        return tuple(sorted(accumulator))

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


@final
class GatheredInSlices(Gathered):
    """The same, of slices."""

    mergeable = True


@final
class Spanned(ProcessWindowFunction[Any, Any, int, Any]):
    """Adds key and window to what is in the window, and how many windows of the key there have been."""

    windows: Final = ValueStateDescriptor("windows", Types.LONG())

    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        count = context.global_state().get_state(self.windows)
        count.update((count.value() or 0) + 1)
        yield key, str(context.window()), count.value(), tuple(sorted(elements))


def event_time(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Windows of event time, of each kind."""
    keyed = numbers(env)
    tumbling, sliding = TumblingEventTimeWindows(70, 0), SlidingEventTimeWindows(90, 35, 5)
    in_cells = PurgingTrigger.of(EventTimeTrigger.create())
    sessions = EventTimeSessionWindows(60)
    return {
        "tumbling": keyed.window(tumbling).aggregate(Gathered(), Spanned()),
        "sliding": keyed.window(sliding).process(Spanned()),
        "slices": keyed.window(sliding).aggregate(GatheredInSlices(), Spanned()),
        "sums": keyed.window(sliding).reduce(lambda one, other: one + other),
        "sessions": keyed.window(sessions).aggregate(Gathered(), Spanned()),
        "waiting_sessions": keyed.window(sessions).allowed_lateness(300).aggregate(Gathered(), Spanned()),
        "sessions_of_all": keyed.window(sessions).process(Spanned()),
        "tumbling_in_cells": keyed.window(tumbling).trigger(in_cells).process(Spanned()),
        "sessions_in_cells": keyed.window(sessions).trigger(in_cells).process(Spanned()),
        "all": keyed.window_all(tumbling).reduce(lambda one, other: one + other),
    }


def counted(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Windows of a number of records: how many there are is the same, whichever records they hold."""
    keyed = numbers(env)
    of_four = keyed.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(4)))
    return {
        "tumbling": keyed.count_window(3).process(Sized()),
        "sliding": keyed.count_window(4, 2).process(Sized()),
        "evicted": of_four.evictor(CountEvictor.of(2)).process(Sized()),
    }


@final
class Sized(ProcessWindowFunction[Any, Any, int, Any]):
    """Says how many records a window has."""

    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, str(context.window()), len(list(elements))
