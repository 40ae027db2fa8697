"""The beginning of a job: what is prepared before anything is launched, and given back whatever comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import SinkError, SourceError
from headgate.functions.sink import Committer, Sink, SinkContext, SinkIdentity, SinkWriter
from headgate.functions.source import Source, SourceContext, SourceReader
from headgate.ids import CheckpointId
from headgate.job_status import JobStatus
from headgate.operators.sink import SinkFactory
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import line_plan

LOG: list[str] = []


@pytest.fixture(autouse=True)
def _clear() -> None:
    LOG.clear()


class Shelf(Sink[str]):
    """Notes what is asked of it in the driver."""

    def __init__(self, name: str) -> None:
        self.name = name

    def prepare(self, identity: SinkIdentity) -> None:
        LOG.append(f"prepare {self.name}")
        if self.name == "refused":
            raise SinkError("the target belongs to another job")

    def release(self, identity: SinkIdentity) -> None:
        LOG.append(f"release {self.name}")

    def writer(self, context: SinkContext) -> SinkWriter[str]:
        return ShelfWriter()

    def committer(self, context: SinkContext) -> Committer[str]:
        return ShelfCommitter()


class ShelfWriter(SinkWriter[str]):
    def write(self, records: list[Any]) -> None:
        pass

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[str]:
        return []


class ShelfCommitter(Committer[str]):
    def commit(self, committables: list[str]) -> None:
        pass


class Missing(Source[int]):
    """Its input is not there."""

    def splits(self, parallelism: int) -> list[int]:
        raise SourceError("no such folder: /data")

    def reader(self, context: SourceContext) -> SourceReader[int]:
        raise AssertionError("nothing is launched")


def test_cancelling_a_job_that_is_being_refused_does_not_change_its_end() -> None:
    rig = MasterRig(line_plan([1], SinkFactory(Shelf("refused"))))
    rig.master.submit()
    while not LOG:
        rig.io.run_one()
    rig.master.cancel()
    assert rig.end().status is JobStatus.FAILED


def test_a_sink_that_refuses_ends_the_job_before_anything_is_launched() -> None:
    rig = MasterRig(line_plan([1], SinkFactory(Shelf("refused"))))
    outcome = rig.run()
    assert (outcome.status, outcome.cause) == (JobStatus.FAILED, "the target belongs to another job")
    assert rig.launches == []


def test_a_source_that_is_not_there_ends_the_job_before_anything_is_launched() -> None:
    rig = MasterRig(line_plan(Missing(), SinkFactory(Shelf("fine"))))
    assert rig.run().cause == "no such folder: /data"
    assert LOG == ["prepare fine", "release fine"]


def test_a_cancel_during_the_preparation_gives_back_what_was_prepared() -> None:
    rig = MasterRig(line_plan([1], SinkFactory(Shelf("fine"))))
    rig.master.submit()
    rig.master.cancel()
    assert rig.end().status is JobStatus.CANCELED
    assert LOG == ["prepare fine", "release fine"]


def test_sinks_are_given_back_when_the_job_has_ended() -> None:
    rig = MasterRig(line_plan([1], SinkFactory(Shelf("fine"))))
    assert rig.run().status is JobStatus.FINISHED
    assert LOG == ["prepare fine", "release fine"]
