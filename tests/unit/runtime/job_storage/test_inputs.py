"""What sources make for a job: when they are asked for it, and when it is kept and removed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.checkpoint.store import MemoryStore
from headgate.common.configuration import Configuration
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from headgate.errors import SourceError
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader
from headgate.ids import JobId
from headgate.operators.plain_functions import MapFactory
from tests.unit.runtime.job_storage.drivers import Driver
from tests.unit.runtime.plans import line_plan

RETAIN = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}
CHECKPOINTED = {"execution.checkpointing.interval": "1 h"}


class Copying(Source[int]):
    """Numbers from 0, of which it makes something first; notes what it is asked for. `blocks`: until interrupted."""

    def __init__(self, count: int = 10_000, *, fails: bool = False, blocks: bool = False) -> None:
        self.calls: list[str] = []
        self.blocking = threading.Event()
        self._interrupted = threading.Event()
        self._count, self._fails, self._blocks = count, fails, blocks

    def prepare(self, job_id: JobId) -> None:
        self.calls.append("prepare")

    def splits(self, parallelism: int) -> list[int]:
        self.calls.append("splits")
        self.blocking.set()
        if self._blocks and not self._interrupted.wait(120.0):
            raise AssertionError("nobody interrupts")
        if self._fails or self._blocks:
            raise SourceError("nothing is there")
        return [0]

    def interrupt(self) -> None:
        self._interrupted.set()

    def keep(self) -> None:
        self.calls.append("keep")

    def discard(self, job_id: JobId) -> None:
        self.calls.append("discard")

    def release(self, job_id: JobId) -> None:
        self.calls.append("release")

    def reader(self, context: SourceContext) -> CopyReader:
        return CopyReader(self._count)

    def __getstate__(self) -> dict[str, Any]:
        return {"_count": self._count, "calls": []}


class CopyReader(SourceReader[int]):
    def __init__(self, count: int) -> None:
        self._count = count
        self._next: list[int] = []

    def add_splits(self, splits: list[int]) -> None:
        self._next = splits

    def poll(self, records_max: int) -> Poll:
        if not self._next:
            return END_OF_INPUT
        begin = self._next[0]
        end = min(begin + records_max, self._count)
        self._next = [end] if end < self._count else []
        return Records(list(range(begin, end)))

    def snapshot(self) -> list[int]:
        return self._next


def start(
    folder: Path, source: Source[int], savepoint: str | None = None, uid: str = "numbers", **settings: str
) -> Any:
    given = {"headgate.deploy.target": "minicluster", "execution.checkpointing.dir": str(folder), **settings}
    if savepoint is not None:
        given["execution.state-recovery.path"] = savepoint
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given))
    env.from_source(source, None, "numbers").uid(uid).filter(lambda _: False).print()
    return env.submit()


def slowly(source: Copying) -> RateLimitedSource[int]:
    return RateLimitedSource(source, 1_000.0)


def wait_until(holds: Callable[[], bool]) -> None:
    due_s = time.monotonic() + 120.0
    while not holds():
        assert time.monotonic() < due_s, "waited in vain"
        time.sleep(0.01)


def await_records(job: Any) -> None:
    wait_until(lambda: sum(job.progress.records_in.values()) > 0)


def test_what_was_made_goes_when_the_job_has_ended(tmp_path: Path) -> None:
    source = Copying()
    start(tmp_path, source).wait(120.0)
    assert source.calls == ["prepare", "splits", "discard", "release"]


def test_what_was_made_goes_when_the_job_could_not_begin(tmp_path: Path) -> None:
    source = Copying(fails=True)
    assert start(tmp_path, source).wait(120.0).cause == "nothing is there"
    assert source.calls == ["prepare", "splits", "discard", "release"]


def test_a_cancelled_job_interrupts_what_it_waits_for(tmp_path: Path) -> None:
    source = Copying(blocks=True)
    job = start(tmp_path, RateLimitedSource(source, 1.0))
    assert source.blocking.wait(120.0)
    job.cancel()
    outcome = job.wait(120.0)
    assert (outcome.status.word, outcome.cause) == ("cancelled", None)
    assert source.calls == ["prepare", "splits", "discard", "discard", "release"]


def test_a_job_that_was_cancelled_before_its_sources_were_asked_does_not_wait_for_them() -> None:
    storage = Driver(MemoryStore())
    storage.storage.interrupt()
    with pytest.raises(SourceError):
        storage.prepare(line_plan(Copying(blocks=True), MapFactory(str)))


@pytest.mark.parametrize("settings", [CHECKPOINTED | RETAIN, CHECKPOINTED])
def test_a_checkpoint_that_stays_keeps_what_it_has_still_to_read(tmp_path: Path, settings: dict[str, str]) -> None:
    source = Copying()
    job = start(tmp_path, slowly(source), **settings)
    await_records(job)
    location = job.trigger_checkpoint().result(120.0)
    job.cancel()
    job.wait(120.0)
    if settings == CHECKPOINTED:
        assert source.calls == ["prepare", "splits", "discard", "release"]
        return
    assert source.calls == ["prepare", "splits", "release"]
    again = Copying()
    assert start(tmp_path, again, location).wait(120.0).status.word == "finished"
    assert again.calls == ["prepare", "discard", "release"]


def test_a_savepoint_keeps_what_it_has_still_to_read(tmp_path: Path) -> None:
    source = Copying()
    job = start(tmp_path, slowly(source))
    await_records(job)
    job.stop_with_savepoint(False, str(tmp_path / "savepoints"), SavepointFormat.CANONICAL).result(120.0)
    job.wait(120.0)
    assert source.calls == ["prepare", "splits", "keep", "discard", "release"]


def test_a_snapshot_that_cannot_be_read_makes_nothing(tmp_path: Path) -> None:
    source = Copying()
    assert start(tmp_path, source, str(tmp_path / "none")).wait(120.0).status.word == "failed"
    assert "splits" not in source.calls


def test_a_source_that_the_snapshot_does_not_know_starts_fresh(tmp_path: Path) -> None:
    job = start(tmp_path, slowly(Copying()))
    await_records(job)
    savepoint = job.stop_with_savepoint(False, str(tmp_path / "saved"), SavepointFormat.CANONICAL).result(120.0)
    source = Copying()
    settings = {"execution.state-recovery.ignore-unclaimed-state": "true"}
    assert start(tmp_path, source, savepoint, "others", **settings).wait(120.0).status.word == "finished"
    assert source.calls == ["prepare", "splits", "discard", "release"]
