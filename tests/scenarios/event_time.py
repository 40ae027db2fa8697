"""A job whose results tell of every record that was late, over any source that can be stopped half-way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from headgate.common import Types, WatermarkStrategy
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import MapStateDescriptor
from headgate.functions.sink import Sink
from headgate.functions.source import Source
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput
from tests.scenarios.rescaled import Change, Rescaled, Way, into_files, lines

OUT_OF_ORDER_MS: Final = 5_000
BUCKET_MS: Final = 1_000


class AtOnce(WatermarkGenerator):
    """A watermark behind every record, so that it does not depend on the clock what is late."""

    def __init__(self) -> None:
        self.greatest_ms = 0

    def on_event(self, event: Any, timestamp_ms: int, output: WatermarkOutput) -> None:
        self.greatest_ms = max(self.greatest_ms, timestamp_ms)
        output.emit_watermark(self.greatest_ms - OUT_OF_ORDER_MS - 1)


class CountByTime(KeyedProcessFunction):
    """Yields how many records of the key each bucket of event time has, when its time is over, and all late records."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        bucket = value // BUCKET_MS
        if value <= ctx.timer_service().current_watermark():
            yield f"late: {value}"
            return
        self.counts.put(bucket, (self.counts.get(bucket) or 0) + 1)
        ctx.timer_service().register_event_time_timer((bucket + 1) * BUCKET_MS - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        bucket = timestamp // BUCKET_MS
        yield f"{ctx.get_current_key()}: {self.counts.get(bucket)} in {bucket}"
        self.counts.remove(bucket)


def results(times: Iterable[int]) -> list[str]:
    """Return what the job yields when no record is late."""
    counts: dict[tuple[int, int], int] = {}
    for time_ms in times:
        place = time_ms % 3, time_ms // BUCKET_MS
        counts[place] = counts.get(place, 0) + 1
    return sorted(f"{key}: {count} in {bucket}" for (key, bucket), count in counts.items())


class EventTimeJobs:
    """Jobs over one source, whose records have the event times that `time_of` says."""

    def __init__(
        self, folder: Path, source: Callable[[], Source[Any]], records: int, time_of: Callable[[Any], int] = int
    ) -> None:
        """`source` makes the source, for each job anew."""
        self.source, self.time_of, self.out = source, time_of, folder / "out"
        self.rescaled = Rescaled(folder, self._program, records)
        self.sinks: list[Sink[str]] = []
        """Where the results go to beside the files."""

    def run(self, change: Change) -> list[str]:
        """Run from one parallelism to another, and to the end; return what all that yields."""
        way, *parallelisms = change
        return self.run_through(way, *parallelisms)

    def run_through(self, way: Way, *parallelisms: int) -> list[str]:
        """The same through any number of parallelisms."""
        self.rescaled.run_through(way, *parallelisms)
        return lines(self.out)

    def _program(self, env: StreamExecutionEnvironment) -> None:
        time_of = self.time_of
        strategy = WatermarkStrategy.for_generator(AtOnce).with_timestamp_assigner(lambda value, _: time_of(value))
        times = env.from_source(self.source(), strategy, "events").uid("events").map(time_of, Types.LONG())
        counted = times.key_by(lambda time_ms: time_ms % 3, Types.LONG()).process(CountByTime()).uid("counts")
        into_files(counted, self.out)
        for number, sink in enumerate(self.sinks):
            counted.sink_to(sink).uid(f"sink {number}")
