"""The sinks of a job in the driver: their checks, and commits for all subtasks together."""

from __future__ import annotations

import contextlib
import logging
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

from headgate import options
from headgate.checkpoint.commit import PendingCommit
from headgate.checkpoint.handles import ListStateHandle
from headgate.checkpoint.manifest import Manifest, OperatorManifest
from headgate.checkpoint.manifest_storage import InDoubt, Refused
from headgate.checkpoint.messages import SubtaskAcked
from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.elements import savepoint_key
from headgate.errors import ProgramError, SinkError, StorageError
from headgate.functions.sink import CommitLostError, GlobalCommitter, RetriableCommitError, Sink, SinkIdentity
from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt, CheckpointId, Lineage, SubtaskId
from headgate.operators.sink import COMMITTABLES_STATE, CommittingFactory, SinkFactory
from headgate.runtime.job_storage.lease import Outcome
from headgate.state.operator.list_elements import ListElements

Prepared = Mapping[tuple[str, SubtaskId], ListStateHandle]
"""The committables of subtasks that are not committed yet, by the uid of the sink and the subtask."""


@final
class PreparedCommittables:
    """The newest committables of each subtask, which include older uncommitted ones. Owned by the loop."""

    def __init__(self) -> None:
        self._attempt: Attempt | None = None
        self._wanted = CheckpointId(0)
        self._acked: dict[SubtaskId, CheckpointId] = {}
        self._prepared: dict[tuple[str, SubtaskId], ListStateHandle] = {}

    def begin(self, attempt: Attempt, restored: CheckpointId | None) -> None:
        """Begin an attempt. `restored` is the snapshot that it starts from, whose committables are committed."""
        self._attempt = attempt
        self._wanted = restored or CheckpointId(0)
        self._acked, self._prepared = {}, {}

    def acked(self, message: SubtaskAcked) -> None:
        """Keep the committables in an acknowledgement: all that the subtask has prepared up to the checkpoint."""
        if message.attempt != self._attempt or message.checkpoint_id < self._acked.get(message.subtask, 0):
            return
        self._acked[message.subtask] = message.checkpoint_id
        for operator in message.state.operators:
            if COMMITTABLES_STATE in operator.lists:
                self._prepared[operator.uid, message.subtask] = operator.lists[COMMITTABLES_STATE]

    def saving(self, checkpoint_id: CheckpointId) -> None:
        """Note that the manifest of a savepoint is being written: a job that starts from it commits its output."""
        self._wanted = max(self._wanted, checkpoint_id)

    def take(self, completed: CheckpointId | None) -> tuple[CheckpointId, Prepared]:
        """Return the committables of the attempt, which has ended, and a checkpoint after which they are useless.

        `completed` is the newest complete checkpoint. Output prepared up to it, or up to a savepoint, is committed or
        may be committed later. Output prepared for later checkpoints is in no snapshot.
        """
        prepared, self._prepared = self._prepared, {}
        return max(self._wanted, completed or CheckpointId(0)), prepared


_log = logging.getLogger(__name__)


def sinks_by_uid(plan: JobGraph) -> dict[str, Sink[Any]]:
    """Return the sinks of a job by the uid of their operator."""
    return {
        operator.uid: operator.factory.sink
        for vertex in plan.vertices
        for operator in vertex.operators
        if isinstance(operator.factory, SinkFactory)
    }


def repeats_output(plan: JobGraph) -> bool:
    """Return whether a restart from before a completed checkpoint would write output twice."""
    factories = [operator.factory for vertex in plan.vertices for operator in vertex.operators]
    return any(
        isinstance(factory, CommittingFactory) and not (isinstance(factory, SinkFactory) and factory.sink.idempotent)
        for factory in factories
    )


def check_transaction_timeout(plan: JobGraph, uid: str, sink: Sink[Any]) -> None:
    """Compare the transaction timeout of the sink's target with the duration of checkpoints.

    Commits wait for a checkpoint, so the timeout must be longer than the interval plus the checkpoint. Raises
    `ProgramError` if even normal checkpoints would lose output. Logs a warning if a slow checkpoint or a long outage
    would.
    """
    timeout_ms = sink.transaction_timeout_ms
    if timeout_ms is None or not plan.checkpointing:
        return
    interval_ms = plan.settings.get(options.CHECKPOINT_INTERVAL) or 0
    checkpoint_ms = plan.settings.get(options.CHECKPOINT_TIMEOUT)
    if timeout_ms <= interval_ms:
        raise ProgramError(
            f"the sink {uid!r} ({type(sink).__name__}) has a transaction timeout of {timeout_ms} ms, and checkpoints "
            f"are {interval_ms} ms apart: its transactions would end before a checkpoint commits them, and their "
            "records would be lost. Raise the timeout, or lower execution.checkpointing.interval"
        )
    if timeout_ms < interval_ms + checkpoint_ms:
        _log.warning(
            "the transaction timeout of sink %s (%d ms) is less than checkpoint interval and checkpoint timeout "
            "together (%d ms): a job that is down for longer than that, or whose checkpoint takes longer, fails for "
            "good",
            uid,
            timeout_ms,
            interval_ms + checkpoint_ms,
        )


@final
class SinkCommits:
    """The sinks of a job in the driver. All methods block, and run one at a time."""

    def __init__(self, plan: JobGraph, lineage: Lineage) -> None:
        self.lineage = lineage
        self._job_id = plan.job_id
        self._sinks = sinks_by_uid(plan)
        self._moved = plan.settings.get(options.MOVED_CLASSES)
        self._committers: dict[str, GlobalCommitter[Any]] = {}

    def prepare(self, plan: JobGraph) -> None:
        """Prepare every sink's target. Raises `SinkError`, `ProgramError`."""
        for uid, sink in self._sinks.items():
            sink.prepare(self._identity(uid))
            check_transaction_timeout(plan, uid, sink)
        found = {uid: sink.global_committer() for uid, sink in self._sinks.items()}
        self._committers = {uid: committer for uid, committer in found.items() if committer is not None}

    @property
    def any(self) -> bool:
        """Whether some commit in one step for all subtasks, once they are prepared. Does not block."""
        return bool(self._committers)

    def commit(self, store: CheckpointStore, manifest: Manifest) -> None:
        """Commit all that a complete checkpoint or savepoint in `store` holds, oldest first.

        Raises as `GlobalCommitter.commit` does, and `StorageError`.
        """
        for operator in manifest.operators:
            committer = self._committers.get(operator.uid)
            if committer is not None:
                self._commit(committer, self._pending(store, operator))

    def abort(self, store: CheckpointStore, prepared: Prepared, after: CheckpointId) -> None:
        """Abort what was prepared for checkpoints after this one, oldest first; failures are logged."""
        for uid, committer in self._committers.items():
            parts: list[PendingCommit] = []
            for (own, subtask), state in sorted(prepared.items()):
                with _logged(f"what subtask {subtask} of sink {uid!r} has prepared could not be read"):
                    parts += self._parts(store, state, uid) if own == uid else []
            for checkpoint_id, committables in _by_checkpoint(parts).items():
                with _logged(f"what sink {uid!r} has prepared for checkpoint {checkpoint_id} could not be aborted"):
                    if checkpoint_id > after:
                        committer.abort(checkpoint_id, committables)

    def give_up(self, savepoints: frozenset[str]) -> None:
        """Tell all sinks to release the output of the savepoints at these locations. Raises `SinkError`."""
        for uid, sink in self._sinks.items():
            sink.give_up(self._identity(uid), frozenset(map(savepoint_key, savepoints)))

    def discard(self) -> None:
        """Tell all sinks to remove output that no checkpoint will ever commit. Raise the first failure at the end."""
        with contextlib.ExitStack() as stack:
            for uid, sink in self._sinks.items():
                stack.callback(sink.discard, self._identity(uid))

    def release(self) -> None:
        """Release all sinks. Raise the first failure at the end."""
        with contextlib.ExitStack() as stack:
            for uid, sink in self._sinks.items():
                stack.callback(sink.release, self._identity(uid))

    def end_others(self, store: CheckpointStore, manifest: Manifest | None) -> Callable[[], None]:
        """Find transactions that other lineages of the job id have left open; return a function that aborts them.

        `manifest` is the restored snapshot: its transactions stay.
        """
        operators = {} if manifest is None else {operator.uid: operator for operator in manifest.operators}
        ends: list[Callable[[], None]] = []
        for uid, sink in self._sinks.items():
            pending = self._pending(store, operators[uid]) if uid in operators else []
            held = [each for part in pending for each in part.committables]
            ends.append(sink.end_others(self._identity(uid), held))

        def end() -> None:
            for each in ends:
                each()

        return end

    def _identity(self, uid: str) -> SinkIdentity:
        return SinkIdentity(job_id=self._job_id, lineage=self.lineage, uid=uid)

    def _commit(self, committer: GlobalCommitter[Any], pending: list[PendingCommit]) -> None:
        for checkpoint_id, committables in _by_checkpoint(pending).items():
            try:
                committer.commit(checkpoint_id, committables)
            except SinkError:
                raise
            except Exception as error:
                raise SinkError(f"{type(committer).__name__}: {type(error).__name__}: {error}") from error

    def _pending(self, store: CheckpointStore, operator: OperatorManifest) -> list[PendingCommit]:
        return [
            pending
            for _, state in sorted(operator.subtasks.items())
            if COMMITTABLES_STATE in state.lists
            for pending in self._parts(store, state.lists[COMMITTABLES_STATE], operator.name)
        ]

    def _parts(self, store: CheckpointStore, state: ListStateHandle, operator: str) -> list[PendingCommit]:
        # From the job's own storage, with the checksum that its manifest or its subtask names.
        elements = ListElements(elements=pickle.loads(read_state(store, state.handle)))  # noqa: S301
        return elements.values(f"the committables of operator {operator!r}", self._moved)


def attempt_commit(commit: Callable[[], Outcome]) -> Outcome:
    """Run a commit and return its outcome, Refused if it fails. Raises `InDoubt` when it is to be retried."""
    try:
        return commit()
    except CommitLostError as error:
        return Refused(str(error), retriable=False)
    except (RetriableCommitError, StorageError) as error:
        raise InDoubt(str(error)) from error
    except SinkError as error:
        return Refused(str(error))


def _by_checkpoint(pending: list[PendingCommit]) -> dict[CheckpointId, list[Any]]:
    by_checkpoint: dict[CheckpointId, list[Any]] = {}
    for part in sorted(pending, key=lambda part: part.checkpoint_id):
        by_checkpoint.setdefault(part.checkpoint_id, []).extend(part.committables)
    return by_checkpoint


@contextlib.contextmanager
def _logged(trouble: str) -> Iterator[None]:
    """Log an exception of the context: a failed clean-up does no harm."""
    try:
        yield
    except Exception:  # noqa: BLE001  # a clean-up stops nothing
        _log.warning("%s; it stays in the target", trouble, exc_info=True)
