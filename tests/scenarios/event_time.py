"""A job whose results tell of every record that was late, over any source that can be stopped half-way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Types, WatermarkStrategy
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.datastream import KeyedProcessFunction, RuntimeContext
from headgate.datastream.state import MapStateDescriptor
from headgate.functions.acknowledging import Acknowledger
from headgate.functions.source import NoMoreSplits, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput
from headgate.graph.widths import as_wide
from headgate.ids import JobId
from tests.scenarios.runs import Runs, wait_until

LOOK_MS: Final = 10.0
OUT_OF_ORDER_MS: Final = 5_000
BUCKET_MS: Final = 1_000
HALTED: Final[set[int]] = set()
"""The subtasks whose readers have handed out all that they may."""
GO_ON = threading.Event()
"""Readers may hand out the rest."""


class HaltingReader(SourceReader[Any]):
    """Another reader, up to some record; then nothing is ready until it may go on."""

    def __init__(self, reader: SourceReader[Any], context: SourceContext, left: int) -> None:
        self.reader, self.context, self.left = reader, context, left

    def add_splits(self, splits: list[Any]) -> None:
        self.reader.add_splits(splits)

    def poll(self, records_max: int) -> Poll:
        if GO_ON.is_set():
            return self.reader.poll(records_max)
        if self.left <= 0:
            HALTED.add(self.context.subtask)
            return NotReady(self.context.monotonic_ms() + LOOK_MS)
        polled = self.reader.poll(min(records_max, self.left))
        if isinstance(polled, Records):
            self.left -= len(polled.records)
        return polled

    def snapshot(self) -> list[Any]:
        return self.reader.snapshot()

    def close(self) -> None:
        self.reader.close()


class Halting(Source[Any]):
    """Another source: of `records` to each subtask, the first reads 7 of 16, and the others fewer."""

    def __init__(self, source: Source[Any], records: int) -> None:
        self.source, self.records = source, records
        self.bounded, self.discovery_ends = source.bounded, source.discovery_ends
        self.discovery_interval_ms = source.discovery_interval_ms
        self.watermarks_per_split = source.watermarks_per_split
        self.one_split_at_a_time = source.one_split_at_a_time

    def prepare(self, job_id: JobId) -> None:
        self.source.prepare(job_id)

    def splits(self, parallelism: int) -> list[Any]:
        return self.source.splits(parallelism)

    def discover(self, known: frozenset[str]) -> list[Any] | NoMoreSplits:
        return self.source.discover(known)

    def split_id(self, split: Any) -> str:
        return self.source.split_id(split)

    def to_remember(self, known: Iterable[str]) -> list[str]:
        return self.source.to_remember(known)

    def acknowledger(self) -> Acknowledger[Any] | None:
        return self.source.acknowledger()

    def release(self, job_id: JobId) -> None:
        self.source.release(job_id)

    def reader(self, context: SourceContext) -> SourceReader[Any]:
        left = self.records * (7 - 2 * context.subtask) // 16
        return HaltingReader(self.source.reader(context), context, left)


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
    """Runs of one job over a source whose records have the event times that `time_of` says."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, time_of: Callable[[Any], int]) -> None:
        self.out = folder / "out"
        self.time_of = time_of
        self.runs = Runs(folder / "checkpoints", monkeypatch, **{"headgate.batch.records": "7"})

    def run_half_way(self, source: Source[Any], parallelism: int, records: int) -> None:
        """Run until all readers have come to a halt, and a checkpoint holds that; then cancel."""
        job = self._halted(source, parallelism, records)
        wanted = len(job.progress.checkpoints) + 2
        wait_until(lambda: len(job.progress.checkpoints) >= wanted, job)
        job.cancel()
        assert job.wait(120.0).status.value == "cancelled"

    def run_rescaled(self, source: Source[Any], before: int, after: int, records: int) -> list[str]:
        """Run until all readers have come to a halt, then at another parallelism to the end; return what it yields."""
        job = self._halted(source, before, records)
        widths = as_wide([before] * len(job.plan.vertices), [each.parallelism_max for each in job.plan.vertices], after)
        job.rescale({vertex: (width, width) for vertex, width in enumerate(widths)}).result(120.0)
        GO_ON.set()
        outcome = job.wait(120.0)
        assert outcome.status.value == "finished", outcome.cause
        assert job.progress.attempt == 2
        return self._yielded()

    def _halted(self, source: Source[Any], parallelism: int, records: int) -> Any:
        HALTED.clear()
        GO_ON.clear()
        job = self._submit(Halting(source, records // parallelism), parallelism)
        wait_until(lambda: len(HALTED) == parallelism, job)
        return job

    def run_to_the_end(self, source: Source[Any], parallelism: int) -> list[str]:
        """Run from the last checkpoint, if there is one, and return what all runs have yielded."""
        outcome = self._submit(source, parallelism).wait(120.0)
        assert outcome.status.value == "finished", outcome.cause
        return self._yielded()

    def _yielded(self) -> list[str]:
        return sorted(line for part in self.out.rglob("part-*") for line in part.read_text().splitlines())

    def _submit(self, source: Source[Any], parallelism: int) -> Any:
        env = self.runs.environment(parallelism)
        time_of = self.time_of
        strategy = WatermarkStrategy.for_generator(AtOnce).with_timestamp_assigner(lambda value, _: time_of(value))
        sink = FileSink.for_row_format(str(self.out), Encoder.simple_string_encoder()).build()
        times = env.from_source(source, strategy, "events").uid("events").map(time_of, Types.LONG())
        counted = times.key_by(lambda time_ms: time_ms % 3, Types.LONG()).process(CountByTime()).uid("counts")
        counted.sink_to(sink).uid("out")
        return env.submit()
