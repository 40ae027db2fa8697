"""The sink protocol: how results leave a job, each exactly once.

A sink has two phases, as in Flink's Sink V2. The writer takes records; at a barrier it flushes and returns
committables, which become part of the checkpoint when the committer has made them durable. Once that checkpoint's
manifest is durable too, the committer commits them; after a failure it is asked to commit them again. Commits run on an
I/O thread.

A sink whose target takes all of a checkpoint in one step, as a table does, has a `GlobalCommitter` in addition: it
commits, in the driver, what all subtasks have prepared. The simple alternative, for targets where writing a record
twice does no harm, is `headgate.functions.flushing`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from headgate.errors import SinkError
from headgate.ids import Attempt, CheckpointId, JobId, Lineage
from headgate.types.type_information import TypeInformation

Committable = TypeVar("Committable")
"""A picklable value that says what to commit."""


class RetriableCommitError(SinkError):
    """A commit cannot be made now, for instance because a server does not answer: it is tried again a while later.

    After `sink.committer.retries` tries the job restarts, and commits again.
    """


class CommitFailedError(SinkError):
    """A commit has failed too often: the job restarts, and commits again.

    If the job fails for good instead, its checkpoints and all that is prepared stay as they are. Raised by headgate.
    """


class CommitLostError(CommitFailedError):
    """What was prepared can never be committed: the message says what it is, where it is, and what to do.

    The job fails for good, and its checkpoints and all that is prepared stay as they are.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkIdentity:
    """Which sink writes. Whatever it writes under a name, or marks as committed, must carry all three, or the digest.

    The `lineage` is another one whenever attempts and checkpoints may have been counted from the beginning: when the
    same job id is used with other storage, or goes back to a savepoint. So no mark of an earlier run is taken for one
    of this run.
    """

    job_id: JobId
    lineage: Lineage
    uid: str

    def digest(self, target: str = "") -> str:
        """Return 26 letters and digits that no other sink, job, lineage or target has, for names with little room.

        They are a digest of 128 bits.

        `target` is what the sink writes to, where names of several targets lie side by side.

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
    """Where a sink runs: names made from these never clash with those of another job, lineage, attempt or subtask."""

    subtask: int
    parallelism: int
    attempt: Attempt
    restored_id: CheckpointId | None = None
    """The checkpoint that the attempt goes on from. What earlier attempts prepared for later ones is left over."""
    restored_job: JobId | None = None
    """The job that took that checkpoint: this one, or another one from whose snapshot this one starts."""

    @property
    def execution(self) -> str:
        """The attempt, such as `"3.5f0c9c41"`, with digits of its driver: part of all names that it writes under.

        The number alone may come again within a lineage: where the job's folder was copied, or is back from a backup.
        """
        return f"{self.attempt}.{self.lineage.driver}" if self.lineage.driver else str(self.attempt)


class Sink(ABC, Generic[Committable]):
    """A place results go to. Pickled once and sent to each subtask, so it holds a description, not a connection."""

    idempotent: bool = False
    """Whether writing a record a second time changes nothing. The job may then go back to any older checkpoint."""

    transaction_timeout_ms: int | None = None
    """How many milliseconds the target keeps what is prepared and not committed; None: for ever. Read after `prepare`.

    It has to be longer than the checkpoint interval, and should be longer than the longest outage.
    """

    def of_type(self, record_type: TypeInformation) -> Sink[Committable]:
        """Return the sink for a stream whose records have this declared type; this one, if that changes nothing."""
        return self

    def prepare(self, identity: SinkIdentity) -> None:
        """Check the target, once for each job, in the driver, before anything runs; may block.

        Raises `SinkError` when the target cannot be used, for instance when another live job owns it.
        """

    def give_up(self, identity: SinkIdentity, savepoints: frozenset[str]) -> None:
        """Keep nothing any more for these savepoints of the job, which never became complete.

        What was kept for no other savepoint is then removed as all else that is prepared: by the committers' `recover`,
        by `discard`, or by `end_others`. An earlier lineage may have kept it. Called in the driver, before all these;
        may block; may be called again with the same savepoints.
        """

    def discard(self, identity: SinkIdentity) -> None:
        """Remove all that the lineage has prepared and not committed, except what its committers were told to keep.

        Called in the driver, before `release`, when the job has ended and none of its checkpoints is retained; may
        block.
        """

    def end_others(self, identity: SinkIdentity, held: list[Committable]) -> Callable[[], None]:
        """Look for transactions that other lineages of the job id have left open; return what aborts them.

        Only what blocks readers or writers of the target while it is open has to be looked for: files that nobody sees
        may stay. `held` is what the restored snapshot holds for this sink: all of it will be committed, and so may what
        a savepoint keeps. Called in the driver when all subtasks are restored; may block. What is returned is called
        next, unless another driver has taken over the job.
        """
        return lambda: None

    def release(self, identity: SinkIdentity) -> None:
        """Give the target back when the job has ended. Called in the driver; may block; may be called twice.

        What was prepared stays: a checkpoint may be retained, from which another job commits it.
        """

    @abstractmethod
    def writer(self, context: SinkContext) -> SinkWriter[Committable]:
        """Return the writer of one subtask, for one attempt."""

    @abstractmethod
    def committer(self, context: SinkContext) -> Committer[Committable]:
        """Return what commits and aborts; its calls are made on an I/O thread and may block."""

    def global_committer(self) -> GlobalCommitter[Committable] | None:
        """Return what commits the committables of all subtasks in one step, None: each subtask commits its own.

        Called once for each job, in the driver. With one, `commit` of the subtasks' committers is called after it.
        """
        return None


class SinkWriter(ABC, Generic[Committable]):
    """Takes the records of one subtask. Called by the mailbox loop only; where it blocks, the job waits."""

    @abstractmethod
    def write(self, records: list[Any]) -> None:
        """Write records, in order."""

    @abstractmethod
    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Committable]:
        """Flush all records since the last call, and return what is to be committed once the checkpoint is complete."""

    def end_input(self) -> None:
        """Take note that no record follows. Checkpoints may follow, the last of them at the end of the job."""

    def close(self) -> None:
        """Release files and connections, and drop what is not prepared. Called also after a failure."""


class Committer(ABC, Generic[Committable]):
    """Makes prepared results visible, or removes those that never will be."""

    @abstractmethod
    def commit(self, committables: list[Committable]) -> None:
        """Commit all, durably. Idempotent: what is final is done; what is neither pending nor final is an error.

        Raises `RetriableCommitError` to be called again a while later, `CommitLostError` for what can never be
        committed. After any other `SinkError` the job restarts and tries again.
        """

    def secure(self, committables: list[Committable]) -> None:
        """Make all committables of a checkpoint durable, where preparing them has not: sync files to the disk, say.

        Called before the checkpoint is acknowledged, perhaps by several threads at a time; may block. Some of them may
        have been secured before, or be final by now. An error ends the attempt: it is not known then what is durable.
        """

    def keep(self, committables: list[Committable], savepoint: str) -> None:
        """Keep these until they are committed, whatever becomes of the job: they are part of a savepoint.

        The job may go back to an earlier checkpoint, or be cancelled, and another job may start from the savepoint and
        commit them. Called by the mailbox loop at the savepoint's barrier, before the savepoint is complete. So note
        with each committable for which savepoint it stays: `savepoint` has 32 letters and digits. Several savepoints
        may hold one committable. `Sink.give_up` is told of savepoints that never became complete.
        """

    def abort(self, committables: list[Committable]) -> None:
        """Remove these, which no snapshot holds, as far as they are there.

        Called when another driver has taken over the job, after the writer was closed; may block. An error is logged.
        """

    def recover(self, restored: list[Committable]) -> None:
        """Remove leftovers of earlier attempts of this job and subtask, except `restored`, which are committed next.

        Called when every subtask of the job is restored, before this one's writer is made: a start that is refused
        removes nothing. An earlier attempt may have had another parallelism: the leftovers of a subtask that no longer
        exists belong to the subtask of its index modulo the parallelism; but what such an attempt had prepared by the
        restored checkpoint may belong to any subtask, and stays. What was to be kept stays, and so does what later
        attempts have prepared: another driver may have taken over the job.
        """


class GlobalCommitter(ABC, Generic[Committable]):
    """Makes what all subtasks have prepared for a checkpoint visible in one step.

    Called in the driver, on I/O threads: one call at a time, but not always on the same thread. Its methods may block;
    while one does, no other checkpoint completes and no attempt starts, so it must not wait for ever.
    """

    @abstractmethod
    def commit(self, checkpoint_id: CheckpointId, committables: list[Committable]) -> None:
        """Commit what was prepared for the checkpoint: called once it is complete, and before any later one's.

        Idempotent. Called again after a restart, and by another job that starts from a snapshot that holds the
        committables: they have to say which job prepared them. Raises what `Committer.commit` raises.
        """

    def abort(self, checkpoint_id: CheckpointId, committables: list[Committable]) -> None:
        """Remove what was prepared for a checkpoint that never completed, and that no other will commit.

        Called when an attempt has ended, with the committables that the driver knows by then: those of a slot that died
        may be missing. Not called when the driver itself dies. An error is logged.
        """
