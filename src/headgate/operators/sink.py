"""The operator of a `Sink`: it writes records in two phases, prepare and commit.

At a barrier the writer prepares committables. All committables that are not committed yet are part of the snapshot,
which is acknowledged when the committer has made them durable. When the checkpoint is complete, an I/O thread commits
them in order. After a restore, once every subtask of the job is restored, the operator removes the remains of earlier
attempts and commits the committables of its checkpoint. `checkpoint.commit` decides what may be committed when.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

from headgate.checkpoint.commit import (
    CheckpointConfirmed,
    Commit,
    CommitEffect,
    CommitEvent,
    CommitFailed,
    CommitPutOff,
    CommitsRestored,
    CommitSucceeded,
    CommitTracker,
    FailTask,
    PendingCommit,
    Prepared,
    ReportCommitted,
)
from headgate.elements import Barrier, Batch
from headgate.functions.sink import (
    CommitFailedError,
    CommitLostError,
    Committer,
    RetriableCommitError,
    Sink,
    SinkContext,
    SinkWriter,
)
from headgate.ids import CheckpointId
from headgate.operators.base import Operator, OperatorContext, OperatorSnapshot, expect
from headgate.options import COMMITTER_RETRIES
from headgate.state.operator.list_elements import ListElements

COMMITTABLES_STATE: Final = "committables"


@final
class SinkOperator(Operator):
    """Writes the records of one subtask."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink
        self._has_writer = False

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._where = SinkContext(
            job_id=context.job_id,
            lineage=context.lineage,
            uid=context.uid,
            subtask=context.subtask,
            parallelism=context.parallelism,
            attempt=context.attempt,
            restored_id=context.restored.checkpoint_id,
            restored_job=context.restored.job_id,
        )
        self._committer = expect(Committer, self._sink.committer(self._where), self._sink, "committer()")
        self._restored: list[PendingCommit] = context.restored.values(COMMITTABLES_STATE)
        self._tracker = CommitTracker(context.attempt, context.settings.get(COMMITTER_RETRIES))

    def start(self) -> None:
        restored, self._restored = self._restored, []
        self._committer.recover([each for pending in restored for each in pending.committables])
        self._writer = expect(SinkWriter, self._sink.writer(self._where), self._sink, "writer()")
        self._has_writer = True
        if self.context.restored.checkpoint_id is not None:
            self._handle(CommitsRestored(checkpoint_id=self.context.restored.checkpoint_id, pending=tuple(restored)))

    def process(self, batch: Batch) -> Batch:
        columns = batch.columns
        if columns is None:
            self._writer.write(batch.records)
        else:
            self._writer.write_columns(columns)
        return Batch([])

    def end_input(self) -> None:
        self._writer.end_input()

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        prepared = self._writer.prepare_commit(barrier.checkpoint_id)
        committables = tuple(expect(list, prepared, self._writer, "prepare_commit()"))
        self._handle(Prepared(checkpoint_id=barrier.checkpoint_id, committables=committables))
        pending = self._tracker.pending()
        held = [each for some in pending for each in some.committables]
        if barrier.savepoint is not None:
            self._committer.keep(held, barrier.savepoint.key)
        return OperatorSnapshot(
            uid=self.context.uid,
            lists={COMMITTABLES_STATE: ListElements.of(pending)},
            secure=partial(self._committer.secure, held),
        )

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        self._handle(CheckpointConfirmed(checkpoint_id=checkpoint_id, attempt=self.context.attempt))

    def _handle(self, event: CommitEvent) -> None:
        for effect in self._tracker.handle(event):
            self._perform(effect)

    def _perform(self, effect: CommitEffect) -> None:
        match effect:
            case Commit():
                self._commit(effect)
            case ReportCommitted():
                self.context.services.committed(effect.checkpoint_id)
            case FailTask():
                self.context.services.fail((CommitLostError if effect.lost else CommitFailedError)(effect.reason))

    def _commit(self, effect: Commit) -> None:
        def done(result: BaseException | None) -> None:
            self._handle(_outcome(effect.checkpoint_id, result))

        def commit() -> None:
            committables = list(effect.committables)
            self.context.services.submit(lambda: self._committer.commit(committables), done)

        if effect.delay_ms:
            self.context.services.call_later(effect.delay_ms, commit)
        else:
            commit()

    def close(self) -> None:
        if self._has_writer:
            self._writer.close()

    def abandon(self, after: CheckpointId) -> None:
        """Abort the committables prepared for checkpoints after `after`, which no snapshot holds.

        Call it after `close`.
        """
        parts = [pending.committables for pending in self._tracker.pending() if pending.checkpoint_id > after]
        if parts:
            self._committer.abort([each for part in parts for each in part])


def _outcome(checkpoint_id: CheckpointId, result: BaseException | None) -> CommitEvent:
    match result:
        case None:
            return CommitSucceeded(checkpoint_id=checkpoint_id)
        case RetriableCommitError():
            return CommitPutOff(checkpoint_id=checkpoint_id, reason=str(result))
        case _:
            lost = isinstance(result, CommitLostError)
            return CommitFailed(checkpoint_id=checkpoint_id, reason=str(result), lost=lost)


class CommittingFactory:
    """Marks the factory of an operator that reports its commits. A job ends only after its last commit."""


@final
@dataclass(frozen=True, slots=True)
class SinkFactory(CommittingFactory):
    """Makes the operator of a `Sink`."""

    sink: Sink[Any]

    def create(self) -> SinkOperator:
        return SinkOperator(self.sink)
