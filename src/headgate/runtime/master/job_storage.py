"""Job storage: everything the job master has done beside its loop, on storage, sources and sinks. All of it blocks."""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import final

from headgate import options
from headgate.checkpoint import paths, workflow
from headgate.checkpoint.cleanup import disposal
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.drivers import intents, ownership
from headgate.checkpoint.drivers.epochs import Chain, Owner
from headgate.checkpoint.drivers.intents import StopIntent
from headgate.checkpoint.drivers.ownership import Superseded
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.restore.resolve import Resolution
from headgate.checkpoint.store import CheckpointStore
from headgate.checkpoint.workflow import InDoubt, JobResult, Refused, Stored
from headgate.clock import Clock
from headgate.errors import RestoreError, SinkError, StorageError
from headgate.functions.sink import CommitLostError, RetriableCommitError
from headgate.graph.physical import JobPlan
from headgate.ids import Attempt, CheckpointId
from headgate.runtime.master.inputs import Beginning, Inputs, Splits
from headgate.runtime.master.newest_savepoint import NewestSavepoint
from headgate.runtime.master.outcome import JobOutcome
from headgate.runtime.master.place import keeps_checkpoints
from headgate.runtime.master.prepared import Prepared
from headgate.runtime.master.restoring import Claim, Finder, RestorePoint, may_fall_back
from headgate.runtime.master.sinks import GlobalCommits, check_transaction_timeout, sinks_by_uid
from headgate.runtime.master.sources import Acknowledgers, check_discovery, sources_of
from headgate.runtime.master.supervision import JobStatus

__all__ = ["Beginning", "InDoubt", "JobStorage", "Refused", "RestorePoint", "Splits", "Stored", "Superseded"]

_log = logging.getLogger(__name__)


def new_nonce() -> str:
    """Return what tells this driver from all others."""
    return secrets.token_hex(8)


@final
class JobStorage:
    """The storage of one job, which one driver owns at a time: see `headgate.checkpoint.drivers.epochs`.

    Its methods block and are called beside the loop, from several threads.
    """

    def __init__(
        self,
        store: CheckpointStore,
        clock: Clock,
        open_store: Callable[[str], CheckpointStore],
        nonce: Callable[[], str] = new_nonce,
    ) -> None:
        """`store` is the job's folder; `open_store` opens another one by its location; `nonce` tells drivers apart."""
        self._store = store
        self._clock = clock
        self._open_store = open_store
        self._nonce = nonce
        self._owner: Owner | None = None
        self._chain: Chain | None = None
        self._superseded: Superseded | None = None
        self._damaged: dict[CheckpointId, str] = {}
        self._claim: Claim | None = None
        self._newest = NewestSavepoint()
        self._untidy: tuple[Resolution, Attempt] | None = None
        self.has_completed = False
        """Whether this driver has completed a checkpoint. Set on I/O threads."""
        self._may_have_to_restore = True
        """Whether earlier drivers may have left what this one has not restored yet."""
        self._global_commits: GlobalCommits | None = None
        self._acknowledgers: Acknowledgers | None = None
        self._inputs: Inputs | None = None
        self._interrupted = False

    # --- beginning

    def prepare(self, plan: JobPlan) -> Beginning:
        """Check the storage and every sink's target, list every source's splits, look for earlier drivers of this job.

        From here on this driver owns the job. Raises `SinkError`, `SourceError`, `StorageError`, `ProgramError`.
        """
        ended = self._ended()
        if ended is None:
            workflow.check_writable(self._store, self._nonce())
            self._own()
            ended = self._ended()  # again: an earlier driver may have ended the job meanwhile
        if ended is not None:
            return Beginning(splits={}, last_attempt=Attempt(0), ended=ended)
        last_attempt = workflow.last_attempt(self._store)
        self._may_have_to_restore = last_attempt > 0
        for uid, sink in sinks_by_uid(plan).items():
            sink.prepare(plan.job_id)
            check_transaction_timeout(plan, uid, sink)
        self._global_commits = GlobalCommits(plan)
        self._acknowledgers = Acknowledgers(plan)
        self._newest.acknowledges = self._acknowledgers.any
        for vertex, source in sources_of(plan).items():
            check_discovery(plan.vertices[vertex].operators[0].name, source)
        return Beginning(splits=self._splits(plan), last_attempt=last_attempt)

    def _splits(self, plan: JobPlan) -> Splits:
        """Return the splits of the sources that begin anew, as far as can be known before the first attempt."""
        self._inputs = inputs = Inputs(plan)
        if self._interrupted:  # while there were no inputs yet
            inputs.interrupt()
        inputs.prepare()
        chain = ownership.read_chain(self._store)
        known = Finder(self._store, self._open_store, plan, chain).known_operators()
        return {} if known is None else inputs.splits(known)

    def interrupt(self) -> None:
        """End the waiting of `prepare` for sources, if there is any: the job was cancelled. Does not block."""
        self._interrupted = True
        if self._inputs is not None:
            self._inputs.interrupt()

    def _ended(self) -> JobResult | None:
        return ownership.valid_result(self._store, ownership.read_chain(self._store))

    @property
    def owner(self) -> str:
        """What tells this driver from all others of the job; empty before it owns the job. Does not block."""
        return "" if self._owner is None else str(self._owner)

    def _own(self) -> Owner:
        if self._owner is None:
            self._owner = ownership.take_epoch(self._store, self._nonce())
        return self._owner

    def _is_superseded(self) -> bool:
        """Return whether a later driver has taken over the job. Once it has, this one touches nothing any more."""
        if self._superseded is None and self._owner is not None:
            self._superseded = ownership.superseded(self._store, self._owner)
        return self._superseded is not None

    # --- what attempts start from

    def resolve(self, plan: JobPlan, attempt: Attempt, known_complete: CheckpointId | None) -> RestorePoint:
        """Begin an attempt: find what it starts from.

        What it holds for commits of all subtasks together is committed, and sources that acknowledge are told. Raises
        `RestoreError` when that cannot be used, a source cannot go on from it, or the job is another driver's by now,
        `StorageError`, and `SinkError` as `GlobalCommitter.commit` does.
        """
        own = self._own()
        workflow.begin_attempt(self._store, attempt)
        self._check_owned()
        chain = ownership.read_chain(self._store) if self._chain is None else self._chain
        finder = Finder(self._store, self._open_store, plan, chain, self._newest)
        found = finder.find(known_complete, self._damaged)
        self._claim = finder.claim()
        if self._chain is None:
            self._chain = ownership.record_base(self._store, own, chain, found.base)
            self._check_owned()
            self._untidy = (found.resolution, attempt)
        self._attest(found.point, chain)
        if found.point.manifest is not None:
            self._commit(plan, found.point.manifest, found.point.root)
        self._tell_restored(found.point)
        late = {} if self._inputs is None else self._inputs.late_splits(found.point)
        return replace(found.point, late_splits=late)

    def _attest(self, point: RestorePoint, chain: Chain) -> None:
        """See to it that there is evidence of what is started from: it is committed next."""
        if point.finishing:
            intents.attest_stop(self._store, chain)
        elif point.own is not None:
            ownership.attest_restored(self._store, point.own)

    def _tell_restored(self, point: RestorePoint) -> None:
        """Tell sources that acknowledge, which then begin to read; but not those of a job that only commits."""
        if self._acknowledgers is None or not self._acknowledgers.any or point.finishing:
            return
        store = self._store if point.root is None else self._open_store(point.root)
        self._acknowledgers.restored(store, point.manifest)

    def _check_owned(self) -> None:
        if self._is_superseded():
            assert self._superseded is not None
            raise RestoreError(self._superseded.reason)

    def note_damaged(self, plan: JobPlan, point: RestorePoint, reason: str) -> bool:
        """Note that a file of what was restored is not what was written; return whether an older one may be used."""
        if point.own is None:
            return self._newest.is_damaged(point.root, reason)
        self._damaged[point.own.checkpoint_id] = reason
        return may_fall_back(plan)

    def tidy(self) -> None:
        """Delete what drivers before this one have left behind, once, when all subtasks have restored."""
        self._may_have_to_restore = False
        untidy, self._untidy = self._untidy, None
        if untidy is not None and self._owner is not None and not self._is_superseded():
            disposal.remove_leftovers(self._store, self._owner, *untidy)

    # --- checkpoints

    def store(
        self, manifest: Manifest, savepoint: str | None = None, *, stops: bool = False
    ) -> Stored | Refused | Superseded:
        """Write a manifest, to the folder at `savepoint` if it is one's. Raises `InDoubt`: only `settle` may follow.

        `stops`: the job is to end with the savepoint, so that no restart begins from it if that fails. After
        Superseded the job is another driver's: this one tells no process of it, and deletes nothing.
        """
        owned = self._owned(manifest)
        try:
            target = None if savepoint is None else self._open_store(savepoint)
            if target is not None and self._inputs is not None:
                self._inputs.keep_for(target, owned)
        except (StorageError, OSError) as error:
            return Refused(str(error))
        return self._stored(ownership.store_as_owner(self._store, owned, target), owned, None if stops else savepoint)

    def settle(
        self, manifest: Manifest, savepoint: str | None = None, *, stops: bool = False
    ) -> Stored | Refused | Superseded:
        """Look whether a manifest in doubt is there. Raises `InDoubt` again."""
        owned = self._owned(manifest)
        try:
            target = None if savepoint is None else self._open_store(savepoint)
        except StorageError as error:
            raise InDoubt(str(error)) from error
        return self._stored(ownership.settle_as_owner(self._store, owned, target), owned, None if stops else savepoint)

    def _owned(self, manifest: Manifest) -> Manifest:
        assert self._owner is not None, "a driver that stores a checkpoint has prepared its job"
        return replace(manifest, epoch=self._owner.number, nonce=self._owner.nonce)

    def record_stop(self, checkpoint_id: CheckpointId, savepoint: str) -> Stored | Refused | Superseded:
        """Record that the job ends with the savepoint at this location. Raises `InDoubt`: to be called again then."""
        return self._noted(intents.record_stop(self._store, self._own(), StopIntent(savepoint, checkpoint_id)))

    def _stored(
        self, result: Stored | Refused | Superseded, manifest: Manifest, to_go_on_from: str | None
    ) -> Stored | Refused | Superseded:
        if isinstance(result, Stored) and to_go_on_from is not None:
            self._newest.completed(manifest.checkpoint_id, to_go_on_from)
        elif isinstance(result, Stored) and manifest.savepoint is None:
            self.has_completed = True
        return self._noted(result)

    def _noted(self, result: Stored | Refused | Superseded) -> Stored | Refused | Superseded:
        if isinstance(result, Superseded):
            self._superseded = result
        return result

    def commit_globally(self, plan: JobPlan, manifest: Manifest, root: str | None) -> Stored | Refused | Superseded:
        """Commit what a checkpoint, or the savepoint at `root`, holds for commits of all subtasks together.

        Then have sources acknowledge what it holds. Raises `InDoubt`: to be called again.
        """
        if self._is_superseded():
            assert self._superseded is not None
            return self._superseded
        try:
            self._commit(plan, manifest, root)
            if self._acknowledgers is not None and self._acknowledgers.any:
                self._acknowledgers.completed(self._store if root is None else self._open_store(root), manifest)
        except CommitLostError as error:
            return Refused(str(error), may_mend=False)
        except (RetriableCommitError, StorageError) as error:
            raise InDoubt(str(error)) from error
        except SinkError as error:
            return Refused(str(error))
        return Stored()

    def _commit(self, plan: JobPlan, manifest: Manifest, root: str | None) -> None:
        if self._global_commits is None:
            self._global_commits = GlobalCommits(plan)
        if self._global_commits.any:
            self._global_commits.commit(self._store if root is None else self._open_store(root), manifest)

    def abort_globally(self, prepared: Prepared, after: CheckpointId) -> None:
        """Abort what was prepared for commits of all subtasks together, for checkpoints after this one. Best effort."""
        if self._global_commits is not None and prepared and not self._is_superseded():
            self._global_commits.abort(self._store, prepared, after)

    @property
    def acts_on_completion(self) -> bool:
        """Whether sinks commit, or sources acknowledge, in the driver when a checkpoint is complete. Does not block."""
        return self.commits_globally or (self._acknowledgers is not None and self._acknowledgers.any)

    @property
    def commits_globally(self) -> bool:
        """Whether sinks of the job, which is prepared, commit for all subtasks together. Does not block."""
        return self._global_commits is not None and self._global_commits.any

    def locate(self, checkpoint_id: CheckpointId) -> str:
        """Return where a checkpoint is, in full. Does not block."""
        return self._store.locate(paths.checkpoint_folder(checkpoint_id))

    def discard(self, checkpoint_id: CheckpointId, attempt: Attempt) -> None:
        """Delete the files of a checkpoint that was given up."""
        if not self._is_superseded():
            workflow.discard_files(self._store, checkpoint_id, attempt)

    def prepare_savepoint(self, location: str) -> None:
        """Raise StorageError unless a savepoint can be written to this location."""
        store = self._open_store(location)
        workflow.check_writable(store, self._nonce())
        store.delete_folder(paths.PROBES)
        if not store.list_files(""):
            store.delete_folder("")  # the savepoint may still be refused, and then nothing of it is to stay

    def discard_savepoint(self, location: str) -> None:
        """Delete the folder of a savepoint that was given up."""
        if not self._is_superseded():
            self._open_store(location).delete_folder("")

    def retain(self, keep: tuple[CheckpointId, ...], shared: SharedFiles) -> None:
        """Delete all checkpoints but these, and the shared files that may go; a claimed snapshot when these suffice."""
        if self._is_superseded():
            return
        workflow.retain(self._store, keep, shared)
        if self._claim is not None and len(keep) >= self._claim.num_retained:
            self._delete_claimed(self._claim)

    def _delete_claimed(self, claim: Claim) -> None:
        disposal.dispose_claimed(claim.location, self._open_store)
        intents.drop_claim(self._store)
        self._claim = None

    # --- the end

    def finish(self, plan: JobPlan, outcome: JobOutcome) -> None:
        """Write the durable result, then give sinks back and delete the checkpoints that are not kept.

        A job that failed before this driver's first complete checkpoint has no result, and nothing is deleted: what it
        was to start from is there for the next start, which may have the right settings, or the file that was missing.
        Only copies of what sources read go, if this driver has made them: the next start makes its own. A driver that
        does not own the job yet deletes and records nothing either, and one that is cancelled before it has restored
        keeps the checkpoints of earlier drivers.

        Of a job that is suspended, only give the sinks back: a later driver goes on with it.
        """
        if outcome.status is JobStatus.SUSPENDED:
            self.release(plan)
            return
        self._close_sources()
        if self._is_superseded():
            return
        result = self._ended()
        is_early = outcome.status is JobStatus.FAILED and not self.has_completed
        if result is None and (is_early or self._owner is None):
            try:
                if self._inputs is not None:
                    self._inputs.discard_new()
            finally:
                self.release(plan)
            return
        is_kept = (
            self._may_have_to_restore or keeps_checkpoints(plan, outcome.status) if result is None else result.kept
        )
        try:
            if result is None:
                self._write_result(outcome, is_kept=is_kept)
            if not is_kept:
                self._discard_output(plan)
            self._discard_input(plan, is_kept=is_kept)
        finally:
            self.release(plan)
        if self._is_superseded():
            return
        if self._claim is not None and outcome.status is JobStatus.FINISHED:
            self._delete_claimed(self._claim)
        if is_kept:
            self._delete_all_but_retained(plan)
        else:
            workflow.delete_checkpoints(self._store)

    def _write_result(self, outcome: JobOutcome, *, is_kept: bool) -> None:
        result = JobResult(
            status=outcome.status.value,
            cause=outcome.cause,
            ended_ms=self._clock.wall_ms(),
            owner=self.owner,
            kept=is_kept,
        )
        workflow.write_result(self._store, result)

    def _delete_all_but_retained(self, plan: JobPlan) -> None:
        """Delete what the attempts have left behind, none of which runs any more, and checkpoints beyond the number."""
        if self._owner is None or self._chain is None or self._may_have_to_restore:
            return
        found = self._complete(plan, self._chain)
        beyond = found.older[plan.settings.get(options.CHECKPOINTS_RETAINED) - 1 :]
        retained = replace(
            found,
            older=found.older[: len(found.older) - len(beyond)],
            leftovers=(*found.leftovers, *(manifest.checkpoint_id for manifest in beyond)),
        )
        next_attempt = Attempt(workflow.last_attempt(self._store) + 1)
        disposal.remove_leftovers(self._store, self._owner, retained, next_attempt)

    def _complete(self, plan: JobPlan, chain: Chain) -> Resolution:
        """Return which checkpoints of the job are complete."""
        search = workflow.Search(known_complete=None, may_fall_back=True, chain=chain, damaged=self._damaged)
        return workflow.resolve_latest(self._store, plan.job_id, search)

    def _discard_input(self, plan: JobPlan, *, is_kept: bool) -> None:
        """Have sources remove what they have made for the job, unless a checkpoint that stays has still to read it."""
        if self._inputs is None or self._is_superseded():
            return
        if is_kept and self._chain is not None:
            found = self._complete(plan, self._chain)
            complete = [*found.older, *([] if found.manifest is None else [found.manifest])]
            if self._inputs.needed_by(self._store, complete):
                return
        self._inputs.discard()

    def _discard_output(self, plan: JobPlan) -> None:
        """Have all sinks remove what no checkpoint of the job will ever commit; raise the first failure at the end."""
        if self._is_superseded():
            return
        with contextlib.ExitStack() as stack:
            for sink in sinks_by_uid(plan).values():
                stack.callback(sink.discard, plan.job_id)

    def _close_sources(self) -> None:
        try:
            if self._acknowledgers is not None:
                self._acknowledgers.close()
        except Exception:  # noqa: BLE001  # the job has ended, whatever a source makes of it
            _log.exception("a source could not be told that the job is over")

    def release(self, plan: JobPlan) -> None:
        """Give the targets of all sinks back, and close sources; raise the first failure of a sink at the end."""
        self._close_sources()
        if self._superseded is not None:
            return
        with contextlib.ExitStack() as stack:
            if self._inputs is not None:
                stack.callback(self._inputs.release)
            for sink in sinks_by_uid(plan).values():
                stack.callback(sink.release, plan.job_id)
