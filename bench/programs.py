"""The measured programs, as a user would write them, and the bare loops over the same functions."""

from __future__ import annotations

import heapq
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, final

from bench import inputs
from bench.outputs import ArrivalSink, LatencySink, TallySink, note_collections
from headgate.common import Row, Types
from headgate.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.connectors.file_system import FileSource, StreamFormat
from headgate.datastream.state import ValueState, ValueStateDescriptor
from headgate.deploy.spark.session import obtain

CHURN_RATE = 200_000.0
PROFILE_BYTES = 1_000
HELD_KEYS = 100_000
BUSY_RATE = 100_000.0
SLOW_RECORD_S = 100e-6
TEXT_RATE = 1e9
"""Bytes of text a second of the trial, enough for a source that reads at this rate."""
FAIL_FILE = "fail"
FAILED_FILE = "failed"


class Count(KeyedProcessFunction):
    """Counts the records of each key, with one output for each input."""

    count: ValueState[int]

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


class CountAndPass(Count):
    """Counts, and passes each record on."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class CountOfMany(Count):
    """Counts, and notes in `folder` when the garbage collector stops the slot."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        note_collections(self._folder)


class PassOfMany(CountOfMany):
    """The same, with each record passed on."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class Remind(KeyedProcessFunction):
    """Registers a timer for each record, at its own time; puts something out for the first, and for each timer.

    The first output tells when registering began.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self._began = False

    def process_element(self, value: Any, ctx: Any) -> list[Any]:
        ctx.timer_service().register_event_time_timer(value[1])
        if self._began:
            return []
        self._began = True
        return [value]

    def on_timer(self, timestamp: int, ctx: Any) -> list[Any]:
        return [timestamp]


class Hold(KeyedProcessFunction):
    """Counts the records of each key, which has a kilobyte of its own in state, and passes them on."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self._profile = runtime_context.get_state(ValueStateDescriptor("profile", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if self._count.value() is None:
            self._profile.update(value[0].to_bytes(8, "big") * (PROFILE_BYTES // 8))
        self._count.update((self._count.value() or 0) + 1)
        yield value


class FailOnOrder(MapFunction):
    """Fails when a file appears in `folder`, and leaves another one with the time."""

    def __init__(self, folder: str) -> None:
        self._fail = Path(folder) / FAIL_FILE
        self._failed = Path(folder) / FAILED_FILE

    def map(self, value: Any) -> Any:
        if self._fail.exists():
            self._fail.unlink()
            note = self._failed.with_suffix(".new")
            note.write_text(str(time.monotonic()))
            note.rename(self._failed)
            raise RuntimeError("told to fail")
        return value


def key_of(value: Any) -> Any:
    """Return the key of a tuple."""
    return value[0]


def doubled(value: tuple[int, int]) -> tuple[int, int]:
    """The map of the map-filter chain."""
    return value[0], value[1] * 2


def is_odd_key(value: tuple[int, int]) -> bool:
    """The filter of the map-filter chain."""
    return value[0] % 2 == 1


def split(line: str) -> list[tuple[str, int]]:
    """The flat_map of the word count."""
    return [(word, 1) for word in line.split()]


def add(one: tuple[str, int], other: tuple[str, int]) -> tuple[str, int]:
    """The reduce of the word count."""
    return one[0], one[1] + other[1]


# --- streams


def counted(tuples: DataStream) -> DataStream:
    """The keyed count."""
    return tuples.key_by(key_of).process(Count())


def doubled_odd(tuples: DataStream) -> DataStream:
    """The map-filter chain."""
    return tuples.map(doubled).filter(is_odd_key)


def word_counts(lines: DataStream) -> DataStream:
    """The word count."""
    return lines.flat_map(split).key_by(key_of).reduce(add)


def reminded(timed: DataStream) -> DataStream:
    """A timer for each record."""
    return timed.key_by(key_of).process(Remind())


# --- jobs


def build_count(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.CycleSource(inputs.keyed_tuples, seconds)
    counted(env.from_source(source, None, "tuples")).sink_to(TallySink(folder))


def build_chain(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.CycleSource(inputs.keyed_tuples, seconds)
    doubled_odd(env.from_source(source, None, "tuples")).sink_to(TallySink(folder))


def build_typed_chain(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.CycleSource(inputs.keyed_tuples, seconds)
    pairs = env.from_source(source, None, "tuples").map(doubled, output_type=Types.TUPLE([Types.LONG(), Types.LONG()]))
    pairs.filter(is_odd_key).sink_to(TallySink(folder))


def build_words(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.CycleSource(inputs.lines, seconds)
    word_counts(env.from_source(source, None, "lines")).sink_to(TallySink(folder))


def build_million(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.CycleSource(inputs.million_keys, seconds)
    counted(env.from_source(source, None, "tuples")).sink_to(TallySink(folder))


def build_spread(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.CycleSource(inputs.spread_tuples, seconds)
    counted(env.from_source(source, None, "tuples")).sink_to(TallySink(folder))


def build_churn(env: StreamExecutionEnvironment, folder: str, seconds: float, keys: int) -> None:
    source = inputs.CycleSource(partial(inputs.shuffled_keys, keys), seconds)
    env.from_source(source, None, "tuples").key_by(key_of).process(CountOfMany(folder)).sink_to(TallySink(folder))


def build_paced_churn(env: StreamExecutionEnvironment, folder: str, seconds: float, keys: int) -> None:
    source = inputs.FilledSource(keys, CHURN_RATE, seconds)
    env.from_source(source, None, "paced").key_by(key_of).process(PassOfMany(folder)).sink_to(LatencySink(folder))


def build_timers(
    env: StreamExecutionEnvironment, folder: str, seconds: float, timers: int, disorder_ms: int | None
) -> None:
    source = inputs.TimedSource(timers, disorder_ms)
    reminded(env.from_source(source, None, "timed")).sink_to(TallySink(folder))


def build_latency(env: StreamExecutionEnvironment, folder: str, seconds: float, rate: float) -> None:
    source = inputs.PacedSource(rate, seconds)
    env.from_source(source, None, "paced").key_by(key_of).process(CountAndPass()).sink_to(LatencySink(folder))


def build_fragile(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.PacedSource(1_000.0, seconds)
    stream = env.from_source(source, None, "paced").key_by(key_of).process(CountAndPass())
    stream.map(FailOnOrder(folder)).sink_to(ArrivalSink(folder))


def build_held(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.FilledSource(HELD_KEYS, 1_000.0, seconds)
    stream = env.from_source(source, None, "paced").key_by(key_of).process(Hold())
    stream.map(FailOnOrder(folder)).sink_to(ArrivalSink(folder))


def build_busy(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.FilledSource(HELD_KEYS, BUSY_RATE, seconds)
    env.from_source(source, None, "paced").key_by(key_of).process(Hold()).sink_to(ArrivalSink(folder))


def slowly(value: Any) -> Any:
    """Take long for a record."""
    time.sleep(SLOW_RECORD_S)
    return value


def build_clogged(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.CycleSource(inputs.keyed_tuples, seconds)
    counts = counted(env.from_source(source, None, "tuples"))
    counts.rebalance().map(slowly).sink_to(TallySink(folder))


def same(line: str) -> str:
    """The map of the file source: nothing."""
    return line


def build_files(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    times = math.ceil(seconds * TEXT_RATE / inputs.TEXT_BYTES)
    paths = [str(inputs.text_file(Path(folder)))] * times
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), *paths).build()
    env.from_source(source, None, "lines").map(same).sink_to(TallySink(folder))


def key_of_row(row: Row) -> Any:
    """Return the key of a row of (key, number)."""
    return row.key


def same_row(row: Row) -> Row:
    """The map of rows: nothing."""
    return row


def build_rows(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.CycleSource(inputs.keyed_rows, seconds)
    env.from_source(source, None, "rows").key_by(key_of_row).map(same_row).sink_to(TallySink(folder))


def build_typed_rows(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    source = inputs.CycleSource(inputs.keyed_rows, seconds)
    named = Types.ROW_NAMED(["key", "number"], [Types.LONG(), Types.LONG()])
    rows = env.from_source(source, None, "rows").key_by(key_of_row)
    rows.map(same_row, output_type=named).sink_to(TallySink(folder))


def build_frame(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    pairs = obtain(None, 1).range(inputs.FRAME_ROWS).selectExpr(f"pmod(hash(id), {inputs.KEYS}L) key", "id number")
    env.from_spark(pairs).key_by(key_of_row).map(same_row).sink_to(TallySink(folder))


Build = Callable[[StreamExecutionEnvironment, str, float], None]
JOBS: dict[str, Build] = {
    "count": build_count,
    "chain": build_chain,
    "typed chain": build_typed_chain,
    "words": build_words,
    "million": build_million,
    "fragile": build_fragile,
    "spread": build_spread,
    "held": build_held,
    "busy": build_busy,
    "clogged": build_clogged,
    "files": build_files,
    "rows": build_rows,
    "typed rows": build_typed_rows,
    "frame": build_frame,
    **{f"churn-{keys}": partial(build_churn, keys=keys) for keys in (inputs.CHURN_KEYS, inputs.CHURN_KEYS_QUICK)},
    **{f"paced-{keys}": partial(build_paced_churn, keys=keys) for keys in (inputs.CHURN_KEYS, inputs.CHURN_KEYS_QUICK)},
    **{
        f"timers-{timers}-{order}": partial(build_timers, timers=timers, disorder_ms=disorder_ms)
        for timers in (inputs.TIMERS, inputs.TIMERS_QUICK)
        for order, disorder_ms in (("stream", inputs.TIMERS_DISORDER_MS), ("any", None))
    },
    "latency-1000": lambda env, folder, seconds: build_latency(env, folder, seconds, 1_000.0),
    "latency-10000": lambda env, folder, seconds: build_latency(env, folder, seconds, 10_000.0),
}


# --- bare loops


@final
class DictState:
    """The state of a bare loop."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.key: Any = None

    def value(self) -> Any:
        return self.values.get(self.key)

    def update(self, value: Any) -> None:
        self.values[self.key] = value


def bare_count(make: Callable[[], list[Any]]) -> Callable[[], int]:
    """Return a pass over the list by the function of the keyed count; it returns the number of outputs."""
    records, function, state = make(), Count(), DictState()
    function.count = state  # type: ignore[assignment]  # the bare loop's own

    def once() -> int:
        outputs, process = 0, function.process_element
        for value in records:
            state.key = value[0]
            for _ in process(value, None):
                outputs += 1
        return outputs

    return once


def bare_chain() -> Callable[[], int]:
    """Return a pass over the list by the two functions of the chain; it returns the number of outputs."""
    records = inputs.keyed_tuples()

    def once() -> int:
        outputs = 0
        for value in records:
            mapped = doubled(value)
            if is_odd_key(mapped):
                outputs += 1
        return outputs

    return once


def bare_words() -> Callable[[], int]:
    """Return a pass over the lines by the functions of the word count; it returns the number of outputs."""
    records = inputs.lines()
    counts: dict[str, tuple[str, int]] = {}

    def once() -> int:
        outputs = 0
        for line in records:
            for pair in split(line):
                word = pair[0]
                before = counts.get(word)
                counts[word] = pair if before is None else add(before, pair)
                outputs += 1
        return outputs

    return once


@final
class HeapTimers:
    """The timers of a bare loop, and the context and the timer service of its functions."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int]] = []
        self.key = 0

    def timer_service(self) -> HeapTimers:
        return self

    def register_event_time_timer(self, timestamp: int) -> None:
        heapq.heappush(self.heap, (timestamp, self.key))


def bare_timers(count: int, disorder_ms: int | None) -> Callable[[], int]:
    """Return a pass over so many records by the function of the timers; it returns the number of timers."""
    records = inputs.timed_tuples(count, disorder_ms)

    def once() -> int:
        outputs, function, timers = 0, Remind(), HeapTimers()
        function.open(None)  # type: ignore[arg-type]  # it asks the context for nothing
        process, on_timer = function.process_element, function.on_timer
        for value in records:
            timers.key = value[0]
            process(value, timers)
        while timers.heap:
            time_ms, timers.key = heapq.heappop(timers.heap)
            for _ in on_timer(time_ms, timers):
                outputs += 1
        return outputs

    return once


def bare_files() -> Callable[[], int]:
    """Return a pass over the lines of a file, by Python's own iteration; it returns the number of lines."""
    folder = tempfile.TemporaryDirectory(prefix="headgate-bench-")
    count = inputs.text_file(Path(folder.name)).read_bytes().count(b"\n")

    def once() -> int:
        with Path(folder.name, inputs.TEXT_FILE).open(encoding="utf-8") as lines:
            for _ in lines:
                pass
        return count

    return once


LOOPS: dict[str, Callable[[], Callable[[], int]]] = {
    "count": partial(bare_count, inputs.keyed_tuples),
    "spread": partial(bare_count, inputs.spread_tuples),
    "chain": bare_chain,
    "words": bare_words,
    "files": bare_files,
    **{
        f"timers-{timers}-stream": partial(bare_timers, timers, inputs.TIMERS_DISORDER_MS)
        for timers in (inputs.TIMERS, inputs.TIMERS_QUICK)
    },
}
