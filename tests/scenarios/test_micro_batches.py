"""Numbered batches of a query outside are read exactly once, through failures, stops, and starts from savepoints."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.common import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.files.bulk_format import ParquetFormat
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.connectors.micro_batches.feed import BatchFeed
from headgate.connectors.micro_batches.protocol import Record
from headgate.connectors.micro_batches.source import MicroBatchSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from headgate.errors import CheckpointError
from headgate.functions.source import Source
from tests.scenarios.runs import wait_until

pytestmark = pytest.mark.slow

SIZE = 60


@dataclass
class Numbers:
    """The durable side of a query which hands over the numbers from 0 on, `SIZE` in a batch; batch 2 is empty."""

    available: int = 3
    record: Record = field(default_factory=Record)
    starts: int = 0
    error: str | None = None

    def rows(self, batch: int) -> list[int]:
        return [] if batch == 2 else list(range(batch * SIZE, (batch + 1) * SIZE))

    def expected(self) -> list[str]:
        return sorted(str(number) for batch in range(self.available) for number in self.rows(batch))


class NumberQuery:
    """One run of the query, as an engine would run it: on a thread of its own."""

    def __init__(self, numbers: Numbers, *, ends: bool) -> None:
        self.numbers, self.ends = numbers, ends
        self.stopped = threading.Event()
        self.thread: threading.Thread | None = None

    def record(self) -> Record:
        return self.numbers.record

    def start(self, feed: BatchFeed) -> None:
        self.numbers.starts += 1
        self.numbers.record = replace(self.numbers.record, query="q")
        self.thread = threading.Thread(target=self.run, args=(feed,), daemon=True)
        self.thread.start()

    def run(self, feed: BatchFeed) -> None:
        try:
            while not self.stopped.is_set() and not (self.ends and self.next >= self.numbers.available):
                if self.numbers.error is not None:
                    raise ValueError(self.numbers.error)
                if self.next < self.numbers.available:
                    self.hand_over(feed, self.next)
                self.stopped.wait(0.002)
        except Exception as error:  # noqa: BLE001  # as an engine tells it
            feed.ended(str(error))
        else:
            feed.ended(None)

    @property
    def next(self) -> int:
        return self.numbers.record.acknowledged + 1

    def hand_over(self, feed: BatchFeed, batch: int) -> None:
        self.numbers.record = replace(self.numbers.record, planned=batch)
        feed.process("q", batch, lambda folder: self.write(Path(folder), batch))
        self.numbers.record = replace(self.numbers.record, acknowledged=batch)

    def write(self, folder: Path, batch: int) -> None:
        folder.mkdir(parents=True)
        rows = self.numbers.rows(batch)
        table = pa.table({"n": rows}, schema=pa.schema([("n", pa.int64())]))
        with pq.ParquetWriter(folder / "part-0.parquet", table.schema) as writer:
            if rows:  # Spark writes no row group where there are no rows, unlike Arrow
                writer.write_table(table, row_group_size=10)

    def stop(self) -> None:
        self.stopped.set()
        if self.thread is not None:
            self.thread.join(120.0)
            assert not self.thread.is_alive()


class Fail:
    """Passes records on, and fails at some of them, the first time that they come."""

    def __init__(self, folder: Path, *at: int) -> None:
        self.folder, self.at = folder, at

    def __call__(self, row: Any) -> str:
        mark = self.folder / f"failed-{row.n}"
        if row.n in self.at and not mark.exists():
            mark.touch()
            raise ValueError(f"at {row.n}")
        return str(row.n)


@dataclass
class Rig:
    """Jobs over one query, which write into one folder."""

    folder: Path
    numbers: Numbers = field(default_factory=Numbers)
    settings: dict[str, str] = field(default_factory=dict)
    fail_at: tuple[int, ...] = ()

    def job(
        self, parallelism: int = 2, start: str | None = None, *, ends: bool = False, rate: float | None = None
    ) -> Any:
        """Start a job from the snapshot at `start`, which reads at this rate."""
        env, source = self.environment(start), self.source(ends=ends)
        if rate is not None:
            source = RateLimitedSource(source, rate)
        numbers = env.set_parallelism(parallelism).from_source(source, None, "numbers")
        numbers.uid("numbers").map(Fail(self.folder, *self.fail_at)).sink_to(self.sink()).uid("out")
        return env.submit()

    def environment(self, start: str | None = None) -> StreamExecutionEnvironment:
        configured = {
            "headgate.deploy.target": "minicluster",
            "execution.checkpointing.dir": str(self.folder / "checkpoints"),
            "execution.checkpointing.savepoint-dir": str(self.folder / "savepoints"),
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "0 ms",
            "restart-strategy.fixed-delay.attempts": "5",
            "pipeline.max-parallelism": "12",
            **self.settings,
            **({} if start is None else {"execution.state-recovery.path": start}),
        }
        return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(configured))

    def source(self, *, ends: bool) -> Source[Any]:
        feed = BatchFeed(NumberQuery(self.numbers, ends=ends), str(self.batches), ends=ends)
        return MicroBatchSource(feed, ParquetFormat(), bounded=ends)

    def sink(self) -> FileSink:
        return FileSink.for_row_format(str(self.folder / "out"), Encoder.simple_string_encoder()).build()

    @property
    def batches(self) -> Path:
        return self.folder / "batches"

    def kept(self) -> set[str]:
        """The batches whose files are there."""
        return {path.name.partition("-")[0] for path in self.batches.glob("*/*-*")}

    def written(self) -> list[str]:
        return sorted(line for part in (self.folder / "out").rglob("part-*") for line in part.read_text().splitlines())

    def all_written(self) -> bool:
        return self.written() == self.numbers.expected()

    def until_all_written(self, job: Any) -> None:
        wait_until(self.all_written, job)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    assert len(set(rig.written())) == len(rig.written()), "a record was written twice"


def location_of(rig: Rig, job: Any) -> str:
    """Cancel the job; return where its newest checkpoint is."""
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"
    found = (rig.folder / "checkpoints" / job.job_id).glob("chk-*")
    return str(max(found, key=lambda path: int(path.name.partition("-")[2])))


def until_checkpoints(more: int, job: Any) -> None:
    wanted = len(job.progress.checkpoints) + more
    wait_until(lambda: len(job.progress.checkpoints) >= wanted, job)


def failed(job: Any) -> str:
    outcome = job.wait(120.0)
    assert outcome.status.word == "failed"
    return str(outcome.cause)


def test_a_query_that_ends_is_read_to_its_end_without_any_interval_of_checkpoints(rig: Rig) -> None:
    outcome = rig.job(ends=True).wait(120.0)
    assert outcome.status.word == "finished", outcome.cause
    assert rig.all_written()
    assert rig.numbers.record.acknowledged == 2
    assert rig.kept() == set()


def test_a_job_that_restarts_after_its_query_has_ended_reads_nothing_again_and_goes_on(rig: Rig) -> None:
    env, over, failed_once = rig.environment(), rig.folder / "over", rig.folder / "failed-once"
    env.enable_checkpointing(20)

    def fail_when_over(tick: int) -> bool:
        if over.exists() and not failed_once.exists():
            failed_once.touch()
            raise ValueError(f"at {tick}")
        return False

    numbers = env.from_source(rig.source(ends=True), None, "numbers").uid("numbers").map(lambda row: str(row.n))
    ticks = env.from_source(DataGeneratorSource(lambda index: index, None, 500.0), None, "ticks").uid("ticks")
    numbers.union(ticks.filter(fail_when_over).map(str)).sink_to(rig.sink()).uid("out")
    job: Any = env.submit()
    rig.until_all_written(job)
    until_checkpoints(2, job)
    over.touch()
    wait_until(failed_once.exists, job)
    until_checkpoints(2, job)
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"
    assert (rig.all_written(), rig.numbers.starts) == (True, 1)


def test_there_is_one_checkpoint_for_each_batch_and_state_does_not_grow_with_their_number(rig: Rig) -> None:
    rig.numbers.available = 10
    job = rig.job()
    rig.until_all_written(job)
    wait_until(lambda: rig.numbers.record.acknowledged == 9, job)
    assert 10 <= len(job.progress.checkpoints) <= 12
    assert {path.partition("-")[0] for path in rig.kept()} <= {"9"}
    job.cancel()
    job.wait(120.0)


@pytest.mark.parametrize("interval", [None, "10 ms"], ids=["no interval", "often"])
def test_jobs_that_are_cancelled_go_on_from_their_checkpoints_at_any_parallelism(
    rig: Rig, interval: str | None
) -> None:
    rig.settings = {} if interval is None else {"execution.checkpointing.interval": interval}
    start = None
    for parallelism in (1, 3, 2):
        job = rig.job(parallelism, start)
        rig.until_all_written(job)
        rig.numbers.available += 2
        rig.until_all_written(job)
        rig.numbers.available += 2
        start = location_of(rig, job)
    job = rig.job(1, start)
    rig.until_all_written(job)
    location_of(rig, job)


def test_attempts_that_fail_within_a_batch_restart_and_the_query_does_not(rig: Rig) -> None:
    rig.fail_at = (5, SIZE + 7, 4 * SIZE + 30)
    rig.numbers.available = 5
    job = rig.job()
    rig.until_all_written(job)
    assert job.progress.restarts == 3
    assert rig.numbers.starts == 1
    location_of(rig, job)


@pytest.mark.parametrize("drains", [False, True], ids=["suspend", "drain"])
def test_a_job_is_stopped_with_a_savepoint_within_a_batch_and_another_goes_on(rig: Rig, drains: bool) -> None:
    rig.numbers.available = 40
    job = rig.job(rate=400.0)
    wait_until(lambda: rig.numbers.record.planned >= 3 and rig.kept() >= {"3"}, job)
    savepoint = job.stop_with_savepoint(drains, None, SavepointFormat.CANONICAL).result(120.0)
    assert job.wait(120.0).status.word == "finished"
    assert rig.numbers.record.acknowledged < 39
    before = rig.written()
    assert before
    rig.numbers.available = rig.numbers.record.planned + 3
    other = rig.job(3, savepoint)
    rig.until_all_written(other)
    assert set(before) < set(rig.written())
    location_of(rig, other)


def test_a_savepoint_older_than_the_last_acknowledged_batch_is_refused_by_both(rig: Rig) -> None:
    job = rig.job()
    rig.until_all_written(job)
    wait_until(lambda: rig.numbers.record.acknowledged == 2, job)
    savepoint = job.trigger_savepoint(None, SavepointFormat.CANONICAL).result(120.0)
    rig.numbers.available = 5
    rig.until_all_written(job)
    newest = location_of(rig, job)
    cause = failed(rig.job(2, savepoint))
    assert "has acknowledged batch 4, but the snapshot covers 2" in cause
    assert "has acknowledged batch 4, but the job starts without a snapshot" in failed(rig.job())
    rig.numbers.available = 6
    again = rig.job(2, newest)
    rig.until_all_written(again)
    location_of(rig, again)


def test_a_query_that_fails_fails_the_job_for_good_with_its_cause(rig: Rig) -> None:
    job = rig.job()
    rig.until_all_written(job)
    rig.numbers.error = "column 'n' is gone"
    assert "the streaming query has failed: column 'n' is gone" in failed(job)
    assert job.progress.restarts == 0


def test_a_batch_that_cannot_be_written_fails_the_job(rig: Rig) -> None:
    rig.folder.joinpath("batches").write_text("no folder")
    assert "the streaming query has failed" in failed(rig.job())


def test_a_source_of_a_job_that_has_ended_is_not_read_again(rig: Rig) -> None:
    feed = BatchFeed(NumberQuery(rig.numbers, ends=False), str(rig.batches), ends=False)
    source = MicroBatchSource(feed, ParquetFormat(), bounded=False)
    causes: list[str] = []
    for _ in range(2):
        conf = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
        env = StreamExecutionEnvironment.get_execution_environment(conf)
        env.from_source(source, None, "numbers").print()
        job: Any = env.submit()
        if not causes:
            wait_until(lambda: rig.numbers.record.acknowledged >= 0, job)
            job.cancel()
        outcome = job.wait(120.0)
        causes.append(str(outcome.cause))
    assert "make another source of it" in causes[1]


def test_a_savepoint_that_fails_while_a_batch_waits_is_no_deadlock(rig: Rig) -> None:
    job = rig.job(rate=200.0)
    wait_until(lambda: rig.numbers.record.planned >= 1, job)
    rig.folder.joinpath("file").touch()
    answer = job.stop_with_savepoint(False, str(rig.folder / "file"), SavepointFormat.CANONICAL)
    with pytest.raises(CheckpointError):
        answer.result(120.0)
    rig.until_all_written(job)
    location_of(rig, job)
