"""What the job master does with sinks: timeouts are checked, lost output ends the job, harmless repeats are allowed."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.job_records import read_result
from headgate.errors import ProgramError, SinkError
from headgate.functions.flushing import FlushingSink, FlushingWriter
from headgate.functions.sink import (
    CommitLostError,
    Committer,
    RetriableCommitError,
    Sink,
    SinkContext,
    SinkIdentity,
    SinkWriter,
)
from headgate.ids import CheckpointId, JobId
from headgate.job_status import JobStatus
from headgate.operators.sink import SinkFactory
from headgate.runtime.job_storage.restore import may_fall_back
from headgate.runtime.job_storage.sink_commits import check_transaction_timeout, repeats_output
from tests.unit.runtime.master.test_job_master import CALLS, FAIL_AT, Ticking
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import line_plan

EACH_MINUTE = {"execution.checkpointing.interval": "60 s", "execution.checkpointing.timeout": "30 s"}


class Keeping(Sink[Any]):
    """A two-phase sink whose target keeps what is prepared for a while."""

    discarded: ClassVar[list[JobId]] = []
    trouble: ClassVar[SinkError | None] = None

    def __init__(self, timeout_ms: int | None = None) -> None:
        self.transaction_timeout_ms = timeout_ms

    def discard(self, identity: SinkIdentity) -> None:
        Keeping.discarded.append(identity.job_id)

    def writer(self, context: SinkContext) -> SinkWriter[Any]:
        return KeepingWriter()

    def committer(self, context: SinkContext) -> Committer[Any]:
        return KeepingCommitter()


class KeepingWriter(SinkWriter[Any]):
    def __init__(self) -> None:
        self.taken: list[Any] = []

    def write(self, records: list[Any]) -> None:
        self.taken += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Any]:
        taken, self.taken = self.taken, []
        return [taken] if taken else []


class KeepingCommitter(Committer[Any]):
    def commit(self, committables: list[Any]) -> None:
        if Keeping.trouble is not None:
            raise Keeping.trouble


class Upserting(FlushingSink):
    """Writes at once, and writing again changes nothing."""

    idempotent = True

    def flushing_writer(self, context: SinkContext) -> FlushingWriter:
        raise NotImplementedError


class Appending(Upserting):
    idempotent = False


@pytest.fixture(autouse=True)
def _clear() -> None:
    Keeping.discarded.clear()
    Keeping.trouble = None
    FAIL_AT.clear()
    CALLS[0] = 0


def check(timeout_ms: int | None, **settings: Any) -> None:
    sink = Keeping(timeout_ms)
    check_transaction_timeout(line_plan([1], SinkFactory(sink), settings=settings or EACH_MINUTE), "orders", sink)


@pytest.mark.parametrize("timeout_ms", [1, 59_999, 60_000])
def test_a_transaction_that_ends_before_a_checkpoint_can_commit_it_is_refused(timeout_ms: int) -> None:
    told = f"sink 'orders' .Keeping. has a transaction timeout of {timeout_ms} ms, and checkpoints are 60000 ms apart"
    with pytest.raises(ProgramError, match=told):
        check(timeout_ms)


@pytest.mark.parametrize("timeout_ms", [60_001, 89_999])
def test_a_transaction_that_a_slow_checkpoint_outlasts_is_warned_of(
    timeout_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        check(timeout_ms)
    assert f"the transaction timeout of sink orders ({timeout_ms} ms) is less than" in caplog.text


@pytest.mark.parametrize("timeout_ms", [None, 90_000, 10**9])
def test_a_transaction_that_lasts_long_enough_is_fine(timeout_ms: int | None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check(timeout_ms)
    assert caplog.text == ""


def test_without_checkpoints_there_is_nothing_to_outlast() -> None:
    sink = Keeping(1)
    check_transaction_timeout(line_plan([1], SinkFactory(sink)), "orders", sink)


def test_the_timeout_is_checked_before_anything_runs() -> None:
    rig = MasterRig(line_plan(Ticking(5), SinkFactory(Keeping(10)), settings=EACH_MINUTE))
    outcome = rig.run()
    assert outcome.status is JobStatus.FAILED
    assert "transaction timeout of 10 ms" in str(outcome.cause)
    assert rig.launches == []


@pytest.mark.parametrize(("kind", "repeats"), [(Keeping, True), (Upserting, False), (Appending, True)])
def test_a_job_may_go_back_further_only_where_writing_again_changes_nothing(
    kind: type[Sink[Any]], repeats: bool
) -> None:
    plan = line_plan([1], SinkFactory(kind()), settings=EACH_MINUTE)
    assert repeats_output(plan) is repeats
    assert may_fall_back(plan) is not repeats


def running(retention: str, restarts: int, **settings: str) -> MasterRig:
    """A job with a few checkpoints."""
    settings = {
        "execution.checkpointing.interval": "50 ms",
        "execution.checkpointing.externalized-checkpoint-retention": retention,
        "restart-strategy.type": "fixed-delay" if restarts else "none",
        "restart-strategy.fixed-delay.attempts": str(restarts),
        **settings,
    }
    rig = MasterRig(line_plan(Ticking(1000), SinkFactory(Keeping()), settings=settings))
    rig.master.submit()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= 2)
    return rig


def losing(retention: str) -> MasterRig:
    rig = running(retention, restarts=5)
    Keeping.trouble = CommitLostError("transaction t-5 has timed out: the records are in /audit/t-5")
    return rig


@pytest.mark.parametrize("retention", ["NO_EXTERNALIZED_CHECKPOINTS", "RETAIN_ON_CANCELLATION"])
def test_lost_output_ends_the_job_at_once_and_all_that_could_help_stays(retention: str) -> None:
    rig = losing(retention)
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    assert "transaction t-5 has timed out: the records are in /audit/t-5" in str(outcome.cause)
    assert rig.master.progress.restarts == 0
    newest = CheckpointId(rig.master.progress.checkpoints[-1].checkpoint_id)
    assert paths.metadata(newest) in rig.store.files
    assert Keeping.discarded == []


@pytest.mark.parametrize("trouble", [SinkError("no right to commit"), RetriableCommitError("busy")], ids=repr)
def test_a_job_whose_restarts_run_out_while_a_commit_fails_keeps_what_it_could_not_commit(trouble: SinkError) -> None:
    rig = running("NO_EXTERNALIZED_CHECKPOINTS", restarts=2, **{"sink.committer.retries": "1"})
    Keeping.trouble = trouble
    assert rig.end().status is JobStatus.FAILED
    assert rig.master.progress.restarts == 2
    assert [path for path in rig.store.files if path.endswith(paths.METADATA)]
    assert Keeping.discarded == []


def test_a_job_that_fails_for_good_keeps_its_newest_checkpoint_and_says_how_to_go_on() -> None:
    rig = running("NO_EXTERNALIZED_CHECKPOINTS", restarts=0, **{"execution.checkpointing.dir": "/data"})
    rig.end_launch(rig.launches[-1], "the executor is gone")
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    newest = CheckpointId(rig.master.progress.checkpoints[-1].checkpoint_id)
    assert [path for path in rig.store.files if path.endswith(paths.METADATA)] == [paths.metadata(newest)]
    assert f"headgate run -Dexecution.state-recovery.path=memory:chk-{newest} PROGRAM" in str(outcome.cause)
    stored = read_result(rig.store)
    assert stored is not None
    assert (stored.cause, stored.kept) == (outcome.cause, True)
    assert Keeping.discarded == []
