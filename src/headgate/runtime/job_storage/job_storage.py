"""Job storage: the work of the job master on storage, sinks and sources.

Snapshots, clean-up, commits of sinks and inputs of sources have one owner each. This module runs on the loop: it orders
the work of the owners, and gets the result of each piece of work.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar, final

from headgate import options
from headgate.checkpoint import paths, storage_probe
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.commit import retry_delay_ms
from headgate.checkpoint.drivers.intents import StopIntent
from headgate.checkpoint.drivers.job_records import read_lineage
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.manifest_storage import InDoubt, Refused, Stored
from headgate.checkpoint.restore.latest import Resolution
from headgate.checkpoint.store import CheckpointStore
from headgate.clock import Clock
from headgate.errors import RestoreError, StorageError
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement, as_programmed
from headgate.ids import Attempt, CheckpointId, Lineage
from headgate.runtime.io import Io
from headgate.runtime.job_storage.clean_up import CleanUp
from headgate.runtime.job_storage.finish import JobFinish, give_up_savepoints, release_all
from headgate.runtime.job_storage.lease import Lease, LeaseLost, Outcome, PriorRuns, begin
from headgate.runtime.job_storage.owners import Parts, Steps, Write, Writes, run, step
from headgate.runtime.job_storage.restore import Known, OwnSavepoint, RestorePoint, may_fall_back, without_savepoint
from headgate.runtime.job_storage.sink_commits import Prepared, SinkCommits, attempt_commit
from headgate.runtime.job_storage.source_inputs import SourceInputs
from headgate.runtime.monitoring.outcome import JobOutcome

_log = logging.getLogger(__name__)

T = TypeVar("T")
Done = Callable[[T | BaseException], None]

SAVEPOINT_TRIES_MAX: Final = 10
"""The number of times that a savepoint's manifest in doubt is read again. Its folder may be in other storage."""


def new_nonce() -> str:
    """Return a random nonce, which identifies this driver among all drivers of the job."""
    return secrets.token_hex(8)


@final
@dataclass(frozen=True, slots=True)
class Untidy:
    """The job's checkpoints that were found before attempt `before`, and the point that the attempt starts from."""

    found: Resolution
    before: Attempt
    point: RestorePoint


@final
class JobStorage:
    """The storage of one job. One driver at a time may change it: see `lease`. Owned by the loop; no method blocks."""

    def __init__(
        self,
        store: CheckpointStore,
        io: Io,
        clock: Clock,
        open_store: Callable[[str], CheckpointStore],
        nonce: Callable[[], str] = new_nonce,
    ) -> None:
        """`store` is the job's folder. `open_store` opens another folder by its location. `nonce` makes nonces."""
        self._io = io
        self._clock = clock
        self._nonce = nonce
        self._parts = Parts.of(store, open_store, io)
        self._writes = Writes(clock)
        self._interrupted = False
        self._known = Known()
        self._newest_attempt = Attempt(0)
        self._is_ending = False
        self._untidy: Untidy | None = None
        self._has_restored = self._has_tidied = False
        self.has_completed = False
        """Whether this driver has completed a checkpoint."""

    # --- before the first attempt

    def prepare(self, plan: JobGraph, done: Done[PriorRuns]) -> None:
        """Take the lease, begin the lineage, check storage and sinks, and list the splits of sources that begin.

        `done` gets what earlier drivers have done, or `SinkError`, `SourceError`, `StorageError`, `ProgramError`.
        """
        run(self._prepare_steps(plan), done)

    def _prepare_steps(self, plan: JobGraph) -> Steps[PriorRuns]:
        beginning = yield from step(self._parts.snapshot_owner, lambda: begin(self._parts.store, self._nonce))
        self._parts.lease = lease = beginning.lease
        if beginning.ended is not None or lease is None:
            ran = yield from step(self._parts.snapshot_owner, lambda: read_lineage(self._parts.store))
            self._parts.sinks = SinkCommits(plan, ran or plan.lineage)
            return beginning
        self._has_restored = beginning.last_attempt == 0
        resolver = self._parts.resolver(plan, as_programmed(plan))
        ahead = yield from step(self._parts.snapshot_owner, resolver.look_ahead)
        lineage = yield from step(
            self._parts.snapshot_owner, lambda: lease.begin_lineage(plan.lineage, goes_on=ahead.goes_on)
        )
        self._parts.sinks = sinks = SinkCommits(plan, lineage)
        yield from step(self._parts.sink_owner, lambda: sinks.prepare(plan))
        self._parts.inputs = inputs = SourceInputs(plan)
        if self._interrupted:
            inputs.interrupt()
        yield from step(self._parts.source_owner, lambda: inputs.begin(ahead.operators))
        return beginning

    def interrupt(self) -> None:
        """Interrupt sources for which `prepare` waits: the job was cancelled."""
        self._interrupted = True
        if self._parts.inputs is not None:
            self._parts.inputs.interrupt()

    def release(self, done: Done[None]) -> None:
        """Close sources and release all sinks and sources."""
        run(release_all(self._parts), done)

    @property
    def lineage(self) -> Lineage:
        """The lineage that the sinks write under. The job must be prepared."""
        assert self._parts.sinks is not None
        return self._parts.sinks.lineage

    @property
    def owner(self) -> str:
        """The epoch and nonce of this driver; empty before it owns the job."""
        return "" if self._parts.lease is None else str(self._parts.lease.driver)

    # --- the start of an attempt

    def resolve(
        self,
        plan: JobGraph,
        attempt: Attempt,
        placement: Placement,
        known_complete: CheckpointId | None,
        done: Done[RestorePoint],
    ) -> None:
        """Begin an attempt: find the snapshot that it starts from, and assign its state in the placement.

        Output that the snapshot holds for commits for all is committed, and sources that acknowledge are told. `done`
        gets the restore point; or `RestoreError` when the snapshot cannot be used, a source cannot continue from it, or
        another driver owns the job; or `StorageError`; or `SinkError` of `GlobalCommitter.commit`.
        """
        self._newest_attempt = attempt
        run(self._resolve_steps(plan, attempt, placement, known_complete), done)

    def _resolve_steps(
        self, plan: JobGraph, attempt: Attempt, placement: Placement, known_complete: CheckpointId | None
    ) -> Steps[RestorePoint]:
        parts, sinks, inputs = self._parts, self._parts.sinks, self._parts.inputs
        assert sinks is not None
        known = replace(self._known, complete=known_complete, acknowledges=self._acknowledges)
        resolver = parts.resolver(plan, placement)
        found = yield from step(parts.snapshot_owner, lambda: resolver.begin(attempt, known))
        self._check_newest(attempt)
        self._known, point, manifest = found.known, found.point, found.point.manifest
        if not self._has_tidied:
            self._untidy = Untidy(found.resolution, attempt, point)
        yield from give_up_savepoints(parts)
        self._check_newest(attempt)
        if manifest is not None and sinks.any:
            yield from step(parts.sink_owner, lambda: sinks.commit(parts.folder_of(point.root), manifest))
            self._check_newest(attempt)
        if inputs is None:
            return point
        splits = yield from step(parts.source_owner, lambda: inputs.start(parts.folder_of(point.root), point))
        return replace(point, splits=splits)

    def _check_newest(self, attempt: Attempt) -> None:
        """Raise RestoreError when the attempt has ended before it began: the next attempt restores for itself."""
        if attempt != self._newest_attempt:
            raise RestoreError(f"attempt {attempt} has ended before it began")

    def note_damaged(self, plan: JobGraph, point: RestorePoint, reason: str) -> bool:
        """Note that a file of the restored snapshot is damaged. Return whether an older snapshot may be used."""
        if point.own is not None:
            self._known = self._known.with_damaged(point.own.checkpoint_id, reason)
            return may_fall_back(plan)
        if self._known.savepoint is None or self._known.savepoint.location != point.root:
            return False
        self._known = without_savepoint(self._known, reason)
        return True

    def tidy(self) -> None:
        """Delete files that earlier drivers have left behind, once, when all subtasks have restored.

        Also abort transactions that ended lineages of the job id have left open.
        """
        self._has_restored = True
        untidy, self._untidy = self._untidy, None
        if untidy is not None:
            self._has_tidied = True
            self._clean(lambda clean_up: clean_up.tidy(untidy.found, untidy.before))
            self._parts.sink_owner.submit(lambda: self._end_others(untidy.point), _cleaned(lambda: None))

    def _end_others(self, point: RestorePoint) -> None:
        lease, sinks = self._parts.held(), self._parts.sinks
        assert sinks is not None
        ends = sinks.end_others(self._parts.folder_of(point.root), point.manifest)
        lease.folder()  # without a later driver, none of these transactions is in use
        ends()

    # --- checkpoints

    def store(
        self, manifest: Manifest, savepoint: str | None, known: Callable[[Outcome], None], *, stops: bool = False
    ) -> None:
        """Write a manifest, for a savepoint to the folder at `savepoint`, and settle the write until it is known.

        `stops`: the job is to end with the savepoint, so no restart uses it if the stop fails. After Superseded another
        driver owns the job: this driver tells no process of the manifest, and deletes nothing.
        """

        def stored(outcome: Outcome) -> None:
            if isinstance(outcome, Stored) and savepoint is None:
                self.has_completed = True
            elif isinstance(outcome, Stored) and savepoint is not None and not stops:
                self._note_savepoint(OwnSavepoint(savepoint, manifest.checkpoint_id))
            known(outcome)

        def kept(result: BaseException | None) -> None:
            if isinstance(result, BaseException):
                known(Refused(str(result)))
            else:
                self._writes.submit(self._io, self._write_of(manifest, savepoint), stored)

        if savepoint is None:
            self._writes.submit(self._parts.snapshot_owner, self._write_of(manifest, None), stored)
        else:  # not by the owner of snapshots: a slow savepoint folder must not delay checkpoints
            self._parts.source_owner.submit(lambda: self._keep_inputs(savepoint, manifest), kept)

    def _write_of(self, manifest: Manifest, savepoint: str | None) -> Write:
        lease = self._parts.held()

        def target() -> CheckpointStore | None:
            return None if savepoint is None else self._parts.open_store(savepoint)

        def first() -> Outcome:
            try:
                folder = target()
            except (StorageError, OSError) as error:
                return Refused(str(error))
            return completed(lease.store(manifest, folder))

        def again() -> Outcome:
            try:
                folder = target()
            except StorageError as error:
                raise InDoubt(str(error)) from error
            return completed(lease.settle(manifest, folder))

        def completed(outcome: Outcome) -> Outcome:
            if isinstance(outcome, Stored) and savepoint is not None:
                lease.complete_savepoint(savepoint)
            return outcome

        tries_max = None if savepoint is None else SAVEPOINT_TRIES_MAX
        return Write(what=f"checkpoint {manifest.checkpoint_id}", first=first, again=again, tries_max=tries_max)

    def _keep_inputs(self, savepoint: str, manifest: Manifest) -> None:
        if self._parts.inputs is not None:
            self._parts.inputs.keep_for(self._parts.open_store(savepoint), manifest)

    def _note_savepoint(self, savepoint: OwnSavepoint) -> None:
        if self._known.savepoint is None or self._known.savepoint.checkpoint_id < savepoint.checkpoint_id:
            self._known = replace(self._known, savepoint=savepoint)

    def record_stop(self, checkpoint_id: CheckpointId, savepoint: str, known: Callable[[Outcome], None]) -> None:
        """Record that the job ends with the savepoint at this location."""
        lease = self._parts.held()

        def record() -> Outcome:
            return lease.record_stop(StopIntent(savepoint, checkpoint_id))

        what = f"record that the job ends with savepoint {checkpoint_id}"
        self._writes.submit(self._parts.snapshot_owner, Write(what=what, first=record, again=record), known)

    def commit(self, plan: JobGraph, manifest: Manifest, root: str | None, known: Callable[[Outcome], None]) -> None:
        """Commit the output that a checkpoint, or the savepoint at `root`, holds for commits for all.

        Then have sources acknowledge. Failures that may pass are retried.
        """
        lease, sinks, inputs = self._parts.held(), self._parts.sinks, self._parts.inputs
        assert sinks is not None

        def attempted(action: Callable[[CheckpointStore, Manifest], None]) -> Write:
            def work() -> Outcome:
                return attempt_commit(lambda: lease.act(lambda _: action(self._parts.folder_of(root), manifest)))

            return Write(
                what=f"commit of checkpoint {manifest.checkpoint_id}",
                first=work,
                again=work,
                tries_max=plan.settings.get(options.COMMITTER_RETRIES),
                in_doubt="it cannot be made now",
                pause_ms=retry_delay_ms,
            )

        def committed(outcome: Outcome) -> None:
            if isinstance(outcome, Stored) and inputs is not None and inputs.acknowledges:
                self._writes.submit(self._parts.source_owner, attempted(inputs.acknowledge), known)
            else:
                known(outcome)

        if sinks.any:
            self._writes.submit(self._parts.sink_owner, attempted(sinks.commit), committed)
        else:
            committed(Stored())

    def abort(
        self, prepared: Prepared, after: CheckpointId, stored_up_to: CheckpointId, ended: Callable[[], None]
    ) -> None:
        """Abort output that was prepared for commits for all, for checkpoints later than `after`. Best effort.

        A driver that has taken over the job may start from any checkpoint in storage, up to `stored_up_to`. Then the
        output for these checkpoints stays, too.
        """
        lease, sinks = self._parts.held(), self._parts.sinks
        assert sinks is not None

        def work() -> None:
            if not prepared:
                return
            try:
                lease.folder()
                useless = after
            except LeaseLost:
                useless = max(after, stored_up_to)
            sinks.abort(self._parts.store, prepared, useless)

        self._parts.sink_owner.submit(work, _cleaned(ended))

    @property
    def acts_on_completion(self) -> bool:
        """Whether sinks commit, or sources acknowledge, in the driver when a checkpoint is complete."""
        return self.commits_globally or self._acknowledges

    @property
    def commits_globally(self) -> bool:
        """Whether sinks of the job, which must be prepared, commit for all subtasks together."""
        return self._parts.sinks is not None and self._parts.sinks.any

    @property
    def _acknowledges(self) -> bool:
        return self._parts.inputs is not None and self._parts.inputs.acknowledges

    def locate(self, checkpoint_id: CheckpointId) -> str:
        """Return the full location of a checkpoint."""
        return self._parts.store.locate(paths.checkpoint_folder(checkpoint_id))

    def prepare_savepoint(self, location: str, done: Done[None]) -> None:
        """Record that a savepoint is begun, and check that it can be written to this location.

        `done` gets StorageError if it cannot, and LeaseLost when another driver owns the job. Without a lease nothing
        is recorded: the job does not run yet.
        """
        lease, owner = self._parts.lease, self._parts.snapshot_owner

        def look() -> None:
            store = self._parts.open_store(location)
            storage_probe.check_writable(store, self._nonce())
            store.delete_folder(paths.PROBES)
            if not store.list_files(""):
                store.delete_folder("")  # the savepoint may still be refused, and must leave no folder then

        def record(lease: Lease) -> None:
            if not self._is_ending:  # a job that ends refuses the savepoint
                lease.begin_savepoint(location)

        def looked(result: BaseException | None) -> None:
            if lease is None or isinstance(result, BaseException):
                done(result)
            else:
                owner.submit(lambda: record(lease), done)

        self._io.submit(look, looked)

    def discard(self, checkpoint_id: CheckpointId, attempt: Attempt) -> None:
        """Delete the files of a checkpoint that was given up."""
        self._clean(lambda clean_up: clean_up.discard(checkpoint_id, attempt))

    def discard_savepoint(self, location: str) -> None:
        """Delete the folder of a savepoint that was given up."""
        self._clean(lambda clean_up: clean_up.discard_savepoint(location))

    def forget_savepoint(self, location: str) -> None:
        """Delete the record, if any, of a savepoint that was refused before a subtask heard of it."""
        if self._parts.lease is not None:
            self._clean(lambda clean_up: clean_up.forget_savepoint(location))

    def retain(
        self, plan: JobGraph, keep: tuple[CheckpointId, ...], shared: SharedFiles, ended: Callable[[], None]
    ) -> None:
        """Delete all checkpoints except `keep`: see `CleanUp.retain`. Calls `ended` when done, or after a failure."""
        self._clean(lambda clean_up: clean_up.retain(plan, keep, shared), ended)

    def _clean(self, work: Callable[[CleanUp], None], ended: Callable[[], None] = lambda: None) -> None:
        clean_up = self._parts.clean_up()
        self._parts.clean_up_owner.submit(lambda: work(clean_up), _cleaned(ended))

    @property
    def wake_ms(self) -> float | None:
        """When to call `step` next, None: no need."""
        return self._writes.wake_ms()

    def step(self, now_ms: float) -> None:
        """Settle the writes in doubt that are due."""
        self._writes.step(now_ms)

    def finish(self, plan: JobGraph, outcome: JobOutcome, done: Done[None]) -> None:
        """Write the durable result, release sinks, and delete what does not stay: see `finish`."""
        self._newest_attempt = Attempt(0)  # a restore that is under way stops at its next step
        self._is_ending = True
        end = JobFinish(
            parts=self._parts,
            plan=plan,
            outcome=outcome,
            ended_ms=self._clock.wall_ms(),
            known=self._known,
            has_restored=self._has_restored,
            has_completed=self.has_completed,
        )
        run(end.steps(), done)


def _cleaned(ended: Callable[[], None]) -> Done[None]:
    def done(result: BaseException | None) -> None:
        ended()
        if isinstance(result, BaseException) and not isinstance(result, LeaseLost):
            _log.warning("clean-up failed, which harms nothing but leaves files behind: %s", result)

    return done
