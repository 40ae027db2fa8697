"""What every sink must do, as checks to run on your own: each record once, wherever a job is stopped.

A check that needs what a target or its test cannot do is skipped, and says why.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, final
from unittest import SkipTest

import cloudpickle
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import SinkError
from headgate.functions.sink import (
    CommitLostError,
    Committer,
    RetriableCommitError,
    Sink,
    SinkContext,
    SinkWriter,
)
from headgate.ids import Attempt, CheckpointId, JobId

JOB: Final = JobId("11111111111111111111111111111111")
OTHER_JOB: Final = JobId("22222222222222222222222222222222")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTarget:
    """An empty target with a sink to it, and a function that returns what a reader of the target sees now.

    `be_away(True)` has the target not answer until `be_away(False)`; `lose()` deletes all that is prepared and not
    committed. Both may be None, where a test cannot bring that about.
    """

    sink: Sink[Any]
    read: Callable[[], list[Any]]
    be_away: Callable[[bool], None] | None = None
    lose: Callable[[], None] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SinkCase:
    """How to make empty targets, and a dozen or more different records to write. A record's `repr` tells it apart."""

    fresh: Callable[[], SinkTarget]
    records: list[Any]
    histories: int = 60
    """How many histories of stops and restarts to try; fewer where a fresh target takes its time."""
    expires: str | None = None
    """Why the target cannot keep what is prepared until another job commits it, None: it can."""


def sink_context(job_id: JobId = JOB, subtask: int = 0, attempt: int = 1) -> SinkContext:
    """Return where one subtask of a sink runs, for one attempt."""
    return SinkContext(job_id=job_id, uid="sink", subtask=subtask, parallelism=2, attempt=Attempt(attempt))


Prepared = tuple[CheckpointId, list[Any]]
"""What was prepared for one checkpoint."""


@final
@dataclass(slots=True)
class SinkRun:
    """One subtask of a job that writes `records`, is stopped at times, and starts again at its last checkpoint.

    Its sink may commit for all subtasks together: then the run does what the driver does, too.
    """

    target: SinkTarget
    records: list[Any]
    attempt: int = 1
    position: int = 0
    checkpoints: int = 0
    prepared: list[Prepared] = field(default_factory=list)
    durable: tuple[int, list[Prepared]] = (0, [])
    dead: list[SinkWriter[Any]] = field(default_factory=list)
    writer: SinkWriter[Any] = field(init=False)
    committer: Committer[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.writer, self.committer = open_sink(self.target.sink, sink_context())
        self.committer.recover([])

    def write(self, count: int) -> None:
        """Write the next records."""
        self.writer.write(self.records[self.position : self.position + count])
        self.position = min(self.position + count, len(self.records))

    def prepare(self) -> None:
        """Take a checkpoint, which may come to nothing: then the next one commits what it prepared."""
        self.checkpoints += 1
        checkpoint_id = CheckpointId(self.checkpoints)
        self.prepared.append((checkpoint_id, self.writer.prepare_commit(checkpoint_id)))

    def complete(self) -> None:
        """Let the checkpoint be complete."""
        self.durable = (self.position, pickle.loads(pickle.dumps(self.prepared)))  # noqa: S301

    def commit(self, count: int | None = None) -> None:
        """Commit what the complete checkpoint names, or only the first of it."""
        commit(self.target.sink, self.committer, self.durable[1], count)
        self.prepared = []

    def restart(self) -> None:
        """Start the next attempt at the complete checkpoint. Nobody closes the writer of the last one."""
        self.attempt += 1
        self.dead.append(self.writer)
        self.writer, self.committer = open_sink(self.target.sink, sink_context(attempt=self.attempt))
        self.position, restored = self.durable
        self.committer.recover(committables(restored))
        commit(self.target.sink, self.committer, restored)
        self.prepared = []

    def close(self) -> None:
        """Close all writers, those of dead attempts as well."""
        for writer in [*self.dead, self.writer]:
            writer.close()

    def finish(self) -> None:
        """Write the rest and commit it with a final checkpoint."""
        self.write(len(self.records))
        self.prepare()
        self.complete()
        self.commit()
        self.close()


def open_sink(sink: Sink[Any], context: SinkContext) -> tuple[SinkWriter[Any], Committer[Any]]:
    """Return writer and committer of a sink that went through pickle."""
    sent: Sink[Any] = pickle.loads(cloudpickle.dumps(sink))  # noqa: S301
    return sent.writer(context), sent.committer(context)


def committables(prepared: list[Prepared]) -> list[Any]:
    """Return what was prepared for some checkpoints, oldest first."""
    return [each for _, some in prepared for each in some]


def commit(sink: Sink[Any], committer: Committer[Any], prepared: list[Prepared], count: int | None = None) -> None:
    """Do what driver and subtask do when a checkpoint is complete that holds this, or only the first of it.

    `count` are committables, or checkpoints where all of one are committed together, before subtasks are told.
    """
    driver = sink.global_committer()
    if driver is None:
        committer.commit(committables(prepared)[:count])
        return
    for checkpoint_id, some in [each for each in prepared if each[1]][:count]:
        driver.commit(checkpoint_id, some)
    if count is None:
        committer.commit(committables(prepared))


def check_nothing_is_seen_before_it_is_committed(case: SinkCase) -> None:
    """Written and prepared records are invisible; committed ones are there."""
    run = SinkRun(case.fresh(), case.records)
    run.write(3)
    assert run.target.read() == []
    run.prepare()
    run.complete()
    assert run.target.read() == []
    run.commit()
    assert _counted(run.target.read()) == _counted(case.records[:3])
    run.finish()
    assert _counted(run.target.read()) == _counted(case.records)


def check_stops_at_any_point_give_each_record_once(case: SinkCase) -> None:
    """Whatever is stopped whenever, and however often: after the restart, the end is the same."""

    @settings(max_examples=case.histories, deadline=None, database=None)
    @given(st.lists(st.sampled_from(sorted(_STEPS)), max_size=6))
    def run_and_stop(steps: list[str]) -> None:
        run = SinkRun(case.fresh(), case.records)
        for step in steps:
            run.write(2)
            _STEPS[step](run)
        run.finish()
        assert _counted(run.target.read()) == _counted(case.records)

    run_and_stop()


def check_commits_may_be_repeated(case: SinkCase) -> None:
    """What is committed already is done, whoever asks for it again."""
    run = SinkRun(case.fresh(), case.records)
    run.write(3)
    run.prepare()
    run.complete()
    run.commit()
    run.commit()
    run.restart()
    run.close()
    assert _counted(run.target.read()) == _counted(case.records[:3])


def check_a_dead_attempt_cannot_add_records(case: SinkCase) -> None:
    """An attempt that has not noticed its end goes on writing, prepares, and commits an old checkpoint: no harm."""
    run = SinkRun(case.fresh(), case.records)
    run.write(2)
    run.prepare()
    run.complete()
    old, committed = run.writer, run.durable[1]
    old.write(case.records[2:4])
    committer = run.committer
    run.restart()
    with suppress(SinkError):  # the target may shut it out
        old.write(case.records[4:6])
        old.prepare_commit(CheckpointId(99))
    commit(run.target.sink, committer, committed)
    old.close()
    run.finish()
    assert _counted(run.target.read()) == _counted(case.records)


def check_what_others_wrote_stays(case: SinkCase) -> None:
    """Recovering one subtask touches neither other subtasks nor the output of other jobs, committed or prepared."""
    target = case.fresh()
    others = [sink_context(OTHER_JOB), sink_context(subtask=1)]
    prepared = [
        _prepared(target.sink, context, [record]) for context, record in zip(others, case.records, strict=False)
    ]
    committed = _prepared(target.sink, sink_context(OTHER_JOB, attempt=2), case.records[2:3])
    commit(target.sink, target.sink.committer(sink_context(OTHER_JOB, attempt=2)), committed)
    run = SinkRun(target, case.records[3:])
    run.restart()
    run.finish()
    for context, parts in zip(others, prepared, strict=True):
        commit(target.sink, target.sink.committer(context), parts)
    assert _counted(target.read()) == _counted(case.records)


def check_what_a_savepoint_holds_stays(case: SinkCase) -> None:
    """The job goes back to before its savepoint, and ends without it: another job still commits what that holds."""
    if case.expires is not None:
        raise SkipTest(f"no savepoint holds output for long: {case.expires}")
    run = SinkRun(case.fresh(), case.records)
    run.write(3)
    run.prepare()
    run.committer.keep(committables(run.prepared))
    held = pickle.loads(pickle.dumps(run.prepared))  # noqa: S301
    run.restart()
    run.close()
    run.target.sink.discard(JOB)
    run.target.sink.release(JOB)
    committer = run.target.sink.committer(sink_context(OTHER_JOB))
    committer.recover(committables(held))
    commit(run.target.sink, committer, held)
    assert _counted(run.target.read()) == _counted(case.records[:3])


def check_closing_drops_what_is_not_prepared(case: SinkCase) -> None:
    """A closed writer leaves nothing to see, and may be closed twice, also before it wrote."""
    target = case.fresh()
    unused, _ = open_sink(target.sink, sink_context())
    unused.close()
    unused.close()
    writer, _ = open_sink(target.sink, sink_context())
    writer.write(case.records)
    writer.close()
    writer.close()
    assert target.read() == []


def check_an_idle_subtask_commits_nothing(case: SinkCase) -> None:
    """Without records there is nothing to commit."""
    target = case.fresh()
    writer, committer = open_sink(target.sink, sink_context())
    writer.write([])
    commit(target.sink, committer, [(CheckpointId(1), writer.prepare_commit(CheckpointId(1)))])
    writer.close()
    assert target.read() == []


def check_target_can_be_taken_and_given_back_again(case: SinkCase) -> None:
    """The same job may prepare and release twice, as it does when its driver starts again; output stays."""
    run = SinkRun(case.fresh(), case.records)
    run.target.sink.prepare(JOB)
    run.target.sink.prepare(JOB)
    run.finish()
    run.target.sink.release(JOB)
    run.target.sink.release(JOB)
    run.target.sink.prepare(OTHER_JOB)
    run.target.sink.release(OTHER_JOB)
    assert _counted(run.target.read()) == _counted(case.records)


def check_a_target_that_is_away_is_asked_again(case: SinkCase) -> None:
    """A commit that cannot be made now says that it may be later, whichever part of it was made; then it is made."""
    run = SinkRun(case.fresh(), case.records)
    if run.target.be_away is None:
        raise SkipTest("the test cannot have the target be away")
    run.write(3)
    run.prepare()
    run.complete()
    run.target.be_away(True)
    for _ in range(2):
        try:
            run.commit()
        except RetriableCommitError:
            continue
        raise AssertionError("a commit to a target that is away has to raise RetriableCommitError")
    run.target.be_away(False)
    run.commit()
    run.finish()
    assert _counted(run.target.read()) == _counted(case.records)


def check_lost_output_is_told(case: SinkCase) -> None:
    """What was prepared and is gone is never passed over: the commit says so, also when it is made again."""
    run = SinkRun(case.fresh(), case.records)
    if run.target.lose is None:
        raise SkipTest("the test cannot lose what is prepared")
    run.write(3)
    run.prepare()
    run.complete()
    run.target.lose()
    told: list[str] = []
    for _ in range(2):
        try:
            run.commit()
        except CommitLostError as error:
            told.append(str(error))
    assert len(told) == 2, "a commit of what is lost has to raise CommitLostError"
    assert all(told), "the error has to say what is lost, and where to look for it"
    run.close()


SINK_CHECKS: Final[list[Callable[[SinkCase], None]]] = [
    check_nothing_is_seen_before_it_is_committed,
    check_stops_at_any_point_give_each_record_once,
    check_commits_may_be_repeated,
    check_a_dead_attempt_cannot_add_records,
    check_what_others_wrote_stays,
    check_what_a_savepoint_holds_stays,
    check_closing_drops_what_is_not_prepared,
    check_an_idle_subtask_commits_nothing,
    check_target_can_be_taken_and_given_back_again,
    check_a_target_that_is_away_is_asked_again,
    check_lost_output_is_told,
]


def _checkpoint(run: SinkRun) -> None:
    run.prepare()
    run.complete()
    run.commit()


def _stop_after_closing(run: SinkRun) -> None:
    run.writer.close()
    run.restart()


def _stop_between_checkpoint_and_commit(run: SinkRun) -> None:
    run.prepare()
    run.complete()
    run.restart()


def _stop_amid_the_commit(run: SinkRun) -> None:
    run.prepare()
    run.complete()
    run.commit(1)
    run.restart()


def _stop_before_the_commit_is_reported(run: SinkRun) -> None:
    _checkpoint(run)
    run.restart()


def _stop_before_the_checkpoint_is_complete(run: SinkRun) -> None:
    run.prepare()
    run.restart()


_STEPS: Final[dict[str, Callable[[SinkRun], None]]] = {
    "checkpoint": _checkpoint,
    "abort a checkpoint": SinkRun.prepare,
    "kill": SinkRun.restart,
    "stop after closing": _stop_after_closing,
    "stop before the checkpoint is complete": _stop_before_the_checkpoint_is_complete,
    "stop between checkpoint and commit": _stop_between_checkpoint_and_commit,
    "stop amid the commit": _stop_amid_the_commit,
    "stop before the commit is reported": _stop_before_the_commit_is_reported,
}


def _prepared(sink: Sink[Any], context: SinkContext, records: list[Any]) -> list[Prepared]:
    writer = sink.writer(context)
    writer.write(records)
    prepared = writer.prepare_commit(CheckpointId(1))
    writer.close()
    return [(CheckpointId(1), prepared)]


def _counted(records: list[Any]) -> Counter[Any]:
    return Counter(map(repr, records))
