"""The sink protocol: how results leave a job, each exactly once.

A sink has two phases, as in Flink's Sink V2. The writer takes records; at a barrier it flushes and returns
committables, which become part of the checkpoint when the committer has made them durable. Once that checkpoint's
manifest is durable too, the committer commits them; after a failure it is asked to commit them again. Commits run on an
I/O thread.

A sink whose target accepts all results of a checkpoint in one step, such as a table, also has a `GlobalCommitter`: it
runs in the driver, and commits what all subtasks have prepared. The simple alternative, for targets where writing a
record twice does no harm, is `headgate.functions.flushing`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

from headgate.errors import SinkError
from headgate.ids import Attempt, CheckpointId, JobId, Lineage
from headgate.types.type_information import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa

Committable = TypeVar("Committable")
"""A picklable value that says what to commit."""


class RetriableCommitError(SinkError):
    """A commit is not possible now, for instance because a server does not answer: it is retried later.

    After `sink.committer.retries` tries the job restarts, and commits again.
    """


class CommitFailedError(SinkError):
    """A commit has failed too often: the job restarts, and commits again.

    If the job fails for good instead, its checkpoints and prepared results stay as they are. Raised by headgate.
    """


class CommitLostError(CommitFailedError):
    """Prepared results can never be committed: the message says what they are, where they are, and what to do.

    The job fails for good, and its checkpoints and prepared results stay as they are.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkIdentity:
    """Identifies a sink: every name and every mark of a commit that it writes must contain these three, or the digest.

    The `lineage` changes whenever attempts and checkpoints may be counted from the beginning again: when the same job
    id is used with other storage, or goes back to a savepoint. So a mark of an earlier run is never mistaken for a mark
    of this run.
    """

    job_id: JobId
    lineage: Lineage
    uid: str

    def digest(self, target: str = "") -> str:
        """Return 26 letters and digits, unique to the sink, job, lineage and target, for names with little room.

        They are a digest of 128 bits.

        `target` is the table or other place that the sink writes to, where several targets share one space of names.

        >>> sink = SinkIdentity(job_id=JobId("ab" * 16), lineage=Lineage("cd" * 16, 0), uid="totals")
        >>> sink.digest("shop.totals")
        '3n6tqlw5d2atrcovbwummbesda'
        """
        parts = json.dumps([self.job_id, str(self.lineage), self.uid, target])
        digest = hashlib.blake2s(parts.encode(), digest_size=16).digest()
        return base64.b32encode(digest).decode().rstrip("=").lower()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SinkContext(SinkIdentity):
    """The place of a sink: names made from it never clash with names of another job, lineage, attempt or subtask."""

    subtask: int
    parallelism: int
    attempt: Attempt
    restored_id: CheckpointId | None = None
    """The checkpoint that the attempt continues from. Results prepared for later checkpoints are leftovers."""
    restored_job: JobId | None = None
    """The job that took that checkpoint: this job, or another job from whose snapshot this job starts."""

    @property
    def execution(self) -> str:
        """The attempt with digits of its driver, such as `"3.5f0c9c41"`: part of all names that the attempt uses.

        The number alone may repeat within a lineage: when the job's folder was copied, or restored from a backup.
        """
        return f"{self.attempt}.{self.lineage.driver}" if self.lineage.driver else str(self.attempt)


class Sink(ABC, Generic[Committable]):
    """A place results go to. Pickled once and sent to each subtask, so it holds a description, not a connection."""

    idempotent: bool = False
    """Whether writing a record a second time changes nothing. The job may then go back to any older checkpoint."""

    transaction_timeout_ms: int | None = None
    """Milliseconds for which the target keeps results prepared but not committed; None: for ever. Read after `prepare`.

    It has to be longer than the checkpoint interval, and should be longer than the longest outage.
    """

    def of_type(self, record_type: TypeInformation) -> Sink[Committable]:
        """Return the sink for a stream whose records have this declared type: `self` if the type changes nothing."""
        return self

    def prepare(self, identity: SinkIdentity) -> None:
        """Check the target, once for each job, in the driver, before anything runs; may block.

        Raises `SinkError` when the target cannot be used, for instance when another live job owns it.
        """

    def give_up(self, identity: SinkIdentity, savepoints: frozenset[str]) -> None:
        """Stop keeping committables for these savepoints of the job, which never became complete.

        A committable that no other savepoint keeps is then removed like other prepared results: by the committers'
        `recover`, by `discard`, or by `end_others`. An earlier lineage may have kept it. Called in the driver, before
        those three; may block; may be called again with the same savepoints.
        """

    def discard(self, identity: SinkIdentity) -> None:
        """Remove the results that the lineage has prepared and not committed, except those its committers must keep.

        Called in the driver, before `release`, when the job has ended and none of its checkpoints is retained; may
        block.
        """

    def end_others(self, identity: SinkIdentity, held: list[Committable]) -> Callable[[], None]:
        """Find transactions that other lineages of the job id have left open; return a function that aborts them.

        Only transactions that block readers or writers of the target have to be found: files that nobody sees may stay.
        `held` are the committables of this sink in the restored snapshot: all of them will be committed. Committables
        that a savepoint keeps may be committed, too. Called in the driver when all subtasks are restored; may block.
        The returned function is called next, unless another driver has taken over the job.
        """
        return lambda: None

    def release(self, identity: SinkIdentity) -> None:
        """Release the target when the job has ended. Called in the driver; may block; may be called twice.

        Prepared results stay: another job may start from a retained checkpoint and commit them.
        """

    @abstractmethod
    def writer(self, context: SinkContext) -> SinkWriter[Committable]:
        """Return the writer of one subtask, for one attempt."""

    @abstractmethod
    def committer(self, context: SinkContext) -> Committer[Committable]:
        """Return the committer of one subtask; it commits and aborts on an I/O thread, and may block there."""

    def global_committer(self) -> GlobalCommitter[Committable] | None:
        """Return the committer for all subtasks together; None: each subtask commits its own committables.

        Called once for each job, in the driver. `commit` of the subtasks' committers is called after its `commit`.
        """
        return None


class SinkWriter(ABC, Generic[Committable]):
    """Takes the records of one subtask. Called by the mailbox loop only; where it blocks, the job waits."""

    @abstractmethod
    def write(self, records: list[Any]) -> None:
        """Write records, in order."""

    def write_columns(self, columns: pa.RecordBatch) -> None:
        """Write the rows of an Arrow batch, in order. By default they are written as records, each a `Row`."""
        from headgate.types.arrow import rows_from_batch  # noqa: PLC0415  # Arrow takes long to load

        self.write(rows_from_batch(columns))

    @abstractmethod
    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Committable]:
        """Flush all records since the last call, and return what to commit once the checkpoint is complete."""

    def end_input(self) -> None:
        """Take note that no record follows. Checkpoints may follow, the last of them at the end of the job."""

    def close(self) -> None:
        """Release files and connections, and drop records that are not prepared. Called also after a failure."""


class Committer(ABC, Generic[Committable]):
    """Makes prepared results visible, or removes results that will never be visible."""

    @abstractmethod
    def commit(self, committables: list[Committable]) -> None:
        """Commit all, durably. Idempotent: one that is final already is skipped.

        A committable that is neither pending nor final is an error.

        Raises `RetriableCommitError` to be called again later, `CommitLostError` for a committable that can never be
        committed. After any other `SinkError` the job restarts and tries again.
        """

    def secure(self, committables: list[Committable]) -> None:
        """Make all committables of a checkpoint durable, unless they are already: for example, sync files to the disk.

        Called before the checkpoint is acknowledged, perhaps by several threads at a time; may block. Some of them may
        have been secured before, or be final by now. An error ends the attempt, as it leaves open what is durable.
        """

    def keep(self, committables: list[Committable], savepoint: str) -> None:
        """Keep these until they are committed, whatever happens to the job: they are part of a savepoint.

        The job may go back to an earlier checkpoint, or be cancelled, and another job may start from the savepoint and
        commit them. Called by the mailbox loop at the savepoint's barrier, before the savepoint is complete. Record the
        savepoint with each committable: `savepoint` has 32 letters and digits. Several savepoints may hold one
        committable. `Sink.give_up` receives the savepoints that never became complete.
        """

    def abort(self, committables: list[Committable]) -> None:
        """Remove these committables, which no snapshot holds; some may be gone already.

        Called when another driver has taken over the job, after the writer was closed; may block. An error is logged.
        """

    def recover(self, restored: list[Committable]) -> None:
        """Remove leftovers of earlier attempts of this job and subtask, except `restored`, which are committed next.

        Called when every subtask of the job is restored, before the subtask's writer is made: a start that is refused
        removes nothing. An earlier attempt may have had another parallelism. The leftovers of a subtask that no longer
        exists belong to the subtask of its index modulo the parallelism. But results that such an attempt had prepared
        by the restored checkpoint may belong to any subtask, and stay. Committables kept for a savepoint stay, and so
        do results of later attempts: another driver may have taken over the job.
        """


class GlobalCommitter(ABC, Generic[Committable]):
    """Makes the results that all subtasks have prepared for a checkpoint visible in one step.

    Called in the driver, on I/O threads: one call at a time, but not always on the same thread. Its methods may block.
    While a method blocks, no other checkpoint completes and no attempt starts, so it must not wait for ever.
    """

    @abstractmethod
    def commit(self, checkpoint_id: CheckpointId, committables: list[Committable]) -> None:
        """Commit the results of a checkpoint, once it is complete and before those of any later checkpoint.

        Idempotent. Called again after a restart, and by another job that starts from a snapshot that holds the
        committables: each must say which job prepared it. Raises what `Committer.commit` raises.
        """

    def abort(self, checkpoint_id: CheckpointId, committables: list[Committable]) -> None:
        """Remove the results of a checkpoint that never completed; no other checkpoint will commit them.

        Called when an attempt has ended, with the committables that the driver knows by then: committables of a slot
        that died may be missing. Not called when the driver itself dies. An error is logged.
        """
