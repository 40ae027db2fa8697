"""The measured programs of event time: windows, joins and patterns, and the bare loops that do the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from bench import inputs
from bench.outputs import TallySink
from bench.programs import Build, key_of
from headgate.common import Time, WatermarkStrategy
from headgate.datastream import (
    AggregateFunction,
    DataStream,
    KeyedStream,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from headgate.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from headgate.pattern import CEP, AfterMatchSkipStrategy, Match, Pattern

WINDOW_MS: Final = 1_000
WINDOWED: Final = (20, 2)
"""How many records windows, and sessions, have of each key."""
PAUSE_MS: Final = 2 * WINDOW_MS
"""No record comes for so long after each `WINDOW_MS`, where there are sessions: longer than their gap."""
PER_MS: Final = 20
"""Records in each millisecond, of joins and patterns: one of a key in 50 ms."""
REACH_MS: Final = 75
"""An interval of 150 ms, which has three records of a key."""
KINDS: Final = 10
"""Records are of so many kinds, of which the pattern is about three."""


class Counted(AggregateFunction):
    """Counts the records of a window."""

    mergeable = True

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Pair(ProcessJoinFunction):
    """Makes a pair of two records."""

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right


def records_per_ms(per_key: int) -> int:
    """Return how many records come in a millisecond if a window has so many of a key, on average."""
    return per_key * inputs.KEYS // WINDOW_MS


def is_kind(kind: int, value: Any) -> bool:
    """Return whether a record is of a kind."""
    return bool(value[1] % KINDS == kind)


def ends(match: Match) -> Any:
    """Return what a match comes to."""
    return match["first"][0], match["third"][0]


# --- streams


def tumbling_counts(tuples: KeyedStream) -> DataStream:
    """The count in tumbling windows."""
    return tuples.window(TumblingEventTimeWindows(WINDOW_MS, 0)).aggregate(Counted())


def session_counts(tuples: KeyedStream) -> DataStream:
    """The count in sessions."""
    return tuples.window(EventTimeSessionWindows.with_gap(Time.milliseconds(WINDOW_MS))).aggregate(Counted())


# --- jobs


def _timed(env: StreamExecutionEnvironment, seconds: float, per_ms: int, pause_ms: int = 0) -> KeyedStream:
    source = inputs.TimedCycleSource(seconds, per_ms, WINDOW_MS, pause_ms)
    return env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "tuples").key_by(key_of)


def build_windows(env: StreamExecutionEnvironment, folder: str, seconds: float, per_key: int) -> None:
    keyed = _timed(env, seconds, records_per_ms(per_key))
    tumbling_counts(keyed).sink_to(TallySink(folder))


def build_sessions(env: StreamExecutionEnvironment, folder: str, seconds: float, per_key: int) -> None:
    keyed = _timed(env, seconds, records_per_ms(per_key), PAUSE_MS)
    session_counts(keyed).sink_to(TallySink(folder))


def build_join(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    left, right = (_timed(env, seconds, PER_MS) for _ in range(2))
    reach = Time.milliseconds(-REACH_MS), Time.milliseconds(REACH_MS)
    left.interval_join(right).between(*reach).process(Pair()).sink_to(TallySink(folder))


def build_pattern(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    pattern = Pattern.begin("first", AfterMatchSkipStrategy.skip_past_last_event()).where(partial(is_kind, 0))
    pattern = pattern.followed_by("second").where(partial(is_kind, 1))
    pattern = pattern.followed_by("third").where(partial(is_kind, 2))
    CEP.pattern(_timed(env, seconds, PER_MS), pattern).select(ends).sink_to(TallySink(folder))


JOBS: dict[str, Build] = {
    **{f"windows-{per_key}": partial(build_windows, per_key=per_key) for per_key in WINDOWED},
    **{f"sessions-{per_key}": partial(build_sessions, per_key=per_key) for per_key in WINDOWED},
    "join": build_join,
    "pattern": build_pattern,
}


# --- bare loops


def bare_windows(per_key: int) -> Callable[[], int]:
    """Return a pass over the tuples by the function of the windows; it returns the number of results."""
    records, function = inputs.keyed_tuples(), Counted()
    per_ms = records_per_ms(per_key)
    times = [number // per_ms for number in range(len(records))]

    def once() -> int:
        outputs, create, add_to = 0, function.create_accumulator, function.add
        windows: dict[int, dict[int, int]] = {}
        for value, time_ms in zip(records, times, strict=True):
            start = time_ms - time_ms % WINDOW_MS
            window = windows.get(start)
            if window is None:
                outputs += sum(len(list(map(function.get_result, over.values()))) for over in windows.values())
                window = {}
                windows = {start: window}
            so_far = window.get(value[0])
            window[value[0]] = add_to(value, create() if so_far is None else so_far)
        return outputs + sum(map(len, windows.values()))

    return once


def bare_join() -> Callable[[], int]:
    """Return a pass over two lists with a deque for each key and side; it returns the number of pairs."""
    records = inputs.keyed_tuples()
    times = [number // PER_MS for number in range(len(records))]

    def once() -> int:
        outputs, join = 0, Pair().process_element
        lefts: dict[int, deque[Any]] = {}
        rights: dict[int, deque[Any]] = {}
        for value, time_ms in zip(records, times, strict=True):
            for mine, others, is_left in ((lefts, rights, True), (rights, lefts, False)):
                mine.setdefault(value[0], deque()).append((time_ms, value))
                other = others.setdefault(value[0], deque())
                while other and other[0][0] < time_ms - REACH_MS:
                    other.popleft()
                for other_ms, each in other:
                    if other_ms <= time_ms + REACH_MS:
                        for _ in join(value, each, None) if is_left else join(each, value, None):  # type: ignore[arg-type]
                            outputs += 1
        return outputs

    return once


def bare_pattern() -> Callable[[], int]:
    """Return a pass over the tuples with how far each key is in the pattern; it returns the number of matches."""
    records = inputs.keyed_tuples()

    def once() -> int:
        outputs = 0
        begun: dict[int, list[Any]] = {}
        for value in records:
            taken = begun.get(value[0])
            if is_kind(len(taken) if taken else 0, value):
                if taken is None:
                    begun[value[0]] = [value]
                elif len(taken) < 2:
                    taken.append(value)
                else:
                    outputs += len([(begun.pop(value[0])[0], value)])
        return outputs

    return once


LOOPS: dict[str, Callable[[], Callable[[], int]]] = {
    **{f"windows-{per_key}": partial(bare_windows, per_key) for per_key in WINDOWED},
    "join": bare_join,
    "pattern": bare_pattern,
}
