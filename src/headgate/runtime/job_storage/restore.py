"""Restoring: which checkpoint or savepoint an attempt starts from, and the state that each subtask and slot gets.

An attempt starts from the first of these that exists: the savepoint that the job was stopped with; a savepoint of the
job that is newer than all checkpoints, if the settings allow it; the newest complete checkpoint of the job; the
snapshot that the settings name (`execution.state-recovery.path`); nothing. Before anything runs, this module checks
that the snapshot fits the program.

A savepoint of the job itself is used only with `execution.checkpointing.prefer-checkpoint-for-recovery: false`, and
only where that is exactly once. The user owns the savepoint and may delete it before the next restart, and then the job
restarts from a checkpoint. If a sink had committed the savepoint's output, it would write the output twice. If a source
had acknowledged the savepoint's input, it would not read the input again. Such jobs restart from the checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import final

from headgate import options
from headgate.checkpoint.drivers import intents, job_records, ownership
from headgate.checkpoint.drivers.epochs import Chain
from headgate.checkpoint.drivers.intents import StopIntent
from headgate.checkpoint.handles import InFlightState
from headgate.checkpoint.manifest import Arrival, Manifest, OperatorShape
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.paths import absolute
from headgate.checkpoint.restore.assign import check_backend, follow_uid_hashes, told_of_state
from headgate.checkpoint.restore.in_flight import assign_in_flight
from headgate.checkpoint.restore.latest import Resolution, Search, read_assignment, resolve_latest
from headgate.checkpoint.restore.snapshots import OpenedSnapshot, check_files, open_snapshot
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import DamagedFileError, RestoreError, SinkError, StorageError
from headgate.functions.sink import CommitLostError
from headgate.graph.job_graph import JobGraph, VertexPlan
from headgate.graph.logical import Partitioning
from headgate.graph.placement import Placement
from headgate.ids import Attempt, CheckpointId, Lineage, SlotIndex, SubtaskId
from headgate.runtime.control.messages import Deploy
from headgate.runtime.job_storage.lease import Lease
from headgate.runtime.job_storage.sink_commits import repeats_output
from headgate.runtime.job_storage.sources import Splits

_log = logging.getLogger(__name__)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePoint:
    """The starting point of an attempt: a completed checkpoint or savepoint, or nothing.

    `last_id` is the highest checkpoint id used. The handles in `restored` and `in_flight` are relative to the folder
    `root`, None: to the job's folder. `finishing`: the job was stopped with this savepoint, and only commits what it
    holds. `older` are earlier complete checkpoints of the job, newest first. `placement` has the subtasks to which the
    state is assigned.
    """

    placement: Placement
    manifest: Manifest | None
    last_id: CheckpointId
    restored: dict[SubtaskId, dict[str, RestoredOperator]] = field(default_factory=dict)
    in_flight: dict[SubtaskId, tuple[InFlightState, ...]] = field(default_factory=dict)
    root: str | None = None
    finishing: bool = False
    older: tuple[Manifest, ...] = ()
    splits: Splits = field(default_factory=dict)
    """The splits of sources, at least of all sources that read from the beginning."""

    @property
    def checkpoint_id(self) -> CheckpointId | None:
        """The id of the checkpoint, None: the attempt starts from the beginning."""
        return None if self.manifest is None else self.manifest.checkpoint_id

    @property
    def own(self) -> Manifest | None:
        """The checkpoint if it is the job's own: later checkpoints may build on it, and retention may delete it."""
        return self.manifest if self.root is None else None


@final
@dataclass(frozen=True, slots=True)
class OwnSavepoint:
    """A complete savepoint of the job itself, which did not stop the job."""

    location: str
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Facts about the job's snapshots that this driver knows, but storage does not show.

    `complete` is the newest checkpoint that this driver has completed. `damaged` are checkpoints with damaged files,
    each with the reason. `savepoint` is the newest complete savepoint that was not to stop the job. `acknowledges`:
    sources acknowledge their input.
    """

    complete: CheckpointId | None = None
    damaged: Mapping[CheckpointId, str] = field(default_factory=dict)
    savepoint: OwnSavepoint | None = None
    acknowledges: bool = False

    def with_damaged(self, checkpoint_id: CheckpointId, reason: str) -> Known:
        """Return these facts with one more damaged checkpoint."""
        return replace(self, damaged={**self.damaged, checkpoint_id: reason})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The starting point of an attempt, the job's checkpoints that the search saw, and the facts known afterwards."""

    point: RestorePoint
    resolution: Resolution
    known: Known

    @property
    def base(self) -> CheckpointId:
        """The checkpoint of the job that the driver starts from; 0 for none, or for a snapshot of another job."""
        is_own = self.point.root is None or self.point.finishing
        return self.point.checkpoint_id or CheckpointId(0) if is_own else CheckpointId(0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """A forecast of a driver's first start, before `RestoreResolver.begin` decides.

    `goes_on`: the job continues from a snapshot of its own, as far as is known. `operators` are the uids in the
    snapshot; None: it cannot be read, or the job was stopped with it.
    """

    goes_on: bool
    operators: frozenset[str] | None


@final
@dataclass(frozen=True, slots=True)
class RestoreResolver:
    """Finds the starting point of an attempt in this placement. Used by one owner; all methods block."""

    store: CheckpointStore
    open_store: Callable[[str], CheckpointStore]
    plan: JobGraph
    placement: Placement
    lease: Lease

    def begin(self, attempt: Attempt, known: Known) -> Found:
        """Begin the attempt: return its starting point, after writing the evidence of the snapshot.

        Raises `RestoreError` when the snapshot cannot be used, `LeaseLost`, `StorageError`.
        """
        job_records.begin_attempt(self.store, attempt)
        self.lease.folder()
        chain = self.lease.chain()
        found = self._find(known, chain)
        self.lease.start_from(found.base, chain)
        # Before any output that the snapshot holds is committed.
        if found.point.finishing:
            intents.attest_stop(self.store, chain)
        elif found.point.own is not None:
            ownership.attest_restored(self.store, found.point.own)
        return found

    def _find(self, known: Known, chain: Chain) -> Found:
        stop = intents.read_stop(self.store, chain)
        while True:
            resolution = self._own(known, chain, stop)
            if stop is not None:
                return Found(point=self._stopped(stop, resolution), resolution=resolution, known=known)
            savepoint = self._newer_savepoint(known, resolution)
            if savepoint is not None:
                try:
                    return Found(point=self._ahead(savepoint, resolution), resolution=resolution, known=known)
                except DamagedFileError as error:
                    known = without_savepoint(known, str(error))
                    continue
            if resolution.manifest is None:
                return Found(point=self._from_outside(resolution), resolution=resolution, known=known)
            try:
                point = self._of(self.store, resolution.manifest, resolution)
                return Found(point=replace(point, older=resolution.older), resolution=resolution, known=known)
            except DamagedFileError as error:  # the next search decides whether it may be passed over
                known = known.with_damaged(resolution.manifest.checkpoint_id, str(error))

    def look_ahead(self) -> Ahead:
        """Return a forecast of the driver's first start."""
        chain = self.lease.chain()
        try:
            if intents.read_stop(self.store, chain) is not None:
                return Ahead(goes_on=True, operators=None)
            manifest = self._own(Known(), chain, None).manifest
        except (RestoreError, StorageError):
            return Ahead(goes_on=True, operators=None)
        goes_on = manifest is not None
        try:
            location = self.plan.settings.get(options.RECOVERY_PATH)
            if manifest is None and location is not None:
                manifest = open_snapshot(absolute(location), self.open_store).manifest
        except (RestoreError, StorageError):
            return Ahead(goes_on=goes_on, operators=None)
        found = () if manifest is None else follow_uid_hashes(manifest, self._shapes()).operators
        return Ahead(goes_on=goes_on, operators=frozenset(operator.uid for operator in found))

    def complete(self, known: Known) -> Resolution:
        """Return which checkpoints of the job are complete. Raises `RestoreError`, `StorageError`."""
        return self._search(known, self.lease.chain(), may_fall_back=True)

    def _own(self, known: Known, chain: Chain, stop: StopIntent | None) -> Resolution:
        return self._search(known, chain, may_fall_back=stop is not None or may_fall_back(self.plan))

    def _search(self, known: Known, chain: Chain, *, may_fall_back: bool) -> Resolution:
        search = Search(known_complete=known.complete, may_fall_back=may_fall_back, chain=chain, damaged=known.damaged)
        return resolve_latest(self.store, self.plan.job_id, search)

    def _stopped(self, stop: StopIntent, resolution: Resolution) -> RestorePoint:
        try:
            opened = open_snapshot(stop.location, self.open_store)
            check_files(opened)
        except RestoreError as error:
            raise RestoreError(
                f"the job was stopped with a savepoint, and must commit what that holds before it ends: {error}"
            ) from error
        return self._opened(opened, resolution, finishing=True)

    def _newer_savepoint(self, known: Known, found: Resolution) -> OpenedSnapshot | None:
        """Return the job's own savepoint if the attempt is to start from it; None: it starts from `found`.

        Logs a warning when `found` is older than the savepoint.
        """
        get, savepoint = self.plan.settings.get, known.savepoint
        checkpoint_id = CheckpointId(0) if found.manifest is None else found.manifest.checkpoint_id
        if savepoint is None or savepoint.checkpoint_id <= checkpoint_id or get(options.PREFER_CHECKPOINT):
            return None
        obstacle = _obstacle(self.plan, acknowledges=known.acknowledges)
        try:
            if obstacle is None:
                return _open_savepoint(savepoint, self.open_store)
        except (RestoreError, StorageError) as error:
            obstacle = str(error)
        _pass_over(savepoint, obstacle)
        return None

    def _ahead(self, opened: OpenedSnapshot, resolution: Resolution) -> RestorePoint:
        """Start from a savepoint of the job itself, as from one of another job. All checkpoints are older."""
        point = self._opened(opened, resolution, finishing=False)
        newest = () if resolution.manifest is None else (resolution.manifest,)
        return replace(point, older=(*newest, *resolution.older))

    def _from_outside(self, resolution: Resolution) -> RestorePoint:
        location = self.plan.settings.get(options.RECOVERY_PATH)
        if location is None:
            return RestorePoint(placement=self.placement, manifest=None, last_id=resolution.last_id)
        location = absolute(location)  # slots open it, too, and have other working folders
        opened = open_snapshot(location, self.open_store)
        check_files(opened)
        point = self._opened(opened, resolution, finishing=False)
        if self.plan.settings.get(options.CLAIM_MODE) == "CLAIM":
            intents.record_claim(self.store, location)
        elif intents.read_claim(self.store) == location:
            intents.drop_claim(self.store)  # an earlier driver had other settings, and has not used the claim
        return point

    def _opened(self, opened: OpenedSnapshot, resolution: Resolution, *, finishing: bool) -> RestorePoint:
        point = self._of(opened.store, opened.manifest, resolution)
        assert point.manifest is not None
        _log.info("starting from %s: %s", opened.root, told_of_state(point.manifest, self._shapes()))
        return replace(point, root=opened.root, finishing=finishing)

    def _of(self, store: CheckpointStore, manifest: Manifest, resolution: Resolution) -> RestorePoint:
        get, shapes = self.plan.settings.get, self._shapes()
        manifest = follow_uid_hashes(manifest, shapes)
        check_backend(manifest, shapes, get(options.STATE_BACKEND))
        restored = read_assignment(store, manifest, shapes, allow_non_restored=get(options.IGNORE_UNCLAIMED_STATE))
        return RestorePoint(
            placement=self.placement,
            manifest=manifest,
            last_id=max(resolution.last_id, manifest.checkpoint_id),
            restored=restored,
            in_flight=self._in_flight(manifest, shapes),
        )

    def _shapes(self) -> list[OperatorShape]:
        return shapes_of(self.plan, self.placement)

    def _in_flight(self, manifest: Manifest, shapes: list[OperatorShape]) -> dict[SubtaskId, tuple[InFlightState, ...]]:
        get = self.plan.settings.get
        if get(options.RECOVER_WITHOUT_CHANNEL_STATE) == manifest.checkpoint_id:
            return {}
        return assign_in_flight(manifest, shapes, allow_non_restored=get(options.IGNORE_UNCLAIMED_STATE))


def without_savepoint(known: Known, reason: str) -> Known:
    """Return the facts without the savepoint, which has a damaged file: no attempt starts from it again."""
    assert known.savepoint is not None
    _pass_over(known.savepoint, reason)
    return replace(known, savepoint=None)


def starts_fresh(plan: JobGraph, subtask: SubtaskId, point: RestorePoint) -> bool:
    """Return whether a source reads from the beginning: no snapshot is restored, or the snapshot lacks the source.

    A snapshot of the job itself may know a source but have no state of it: the final one of a job without checkpoints.
    """
    if point.manifest is None:
        return True
    uid = plan.vertex_of(subtask).operators[0].uid
    if point.finishing or uid in point.restored.get(subtask, {}):
        return False
    return point.root is not None or all(operator.uid != uid for operator in point.manifest.operators)


def deploy_messages(plan: JobGraph, attempt: Attempt, lineage: Lineage, point: RestorePoint) -> dict[SlotIndex, Deploy]:
    """Return the order to deploy for each slot. Sources that begin to read get splits of the restore point. Pure."""
    placement = point.placement

    def message(slot: SlotIndex) -> Deploy:
        own = placement.subtasks_of(slot)
        restored: dict[SubtaskId, dict[str, RestoredOperator]] = {
            subtask: point.restored[subtask] for subtask in own if subtask in point.restored
        }
        dealt = {
            subtask: point.splits[subtask.vertex][subtask.index :: placement.parallelism[subtask.vertex]]
            for subtask in own
            if subtask.vertex in point.splits and starts_fresh(plan, subtask, point)
        }
        return Deploy(
            attempt=attempt,
            lineage=lineage,
            placement=placement,
            checkpoint_id=point.checkpoint_id,
            restored=restored,
            splits=dealt,
            root=point.root,
            in_flight={subtask: point.in_flight[subtask] for subtask in own if subtask in point.in_flight},
            finishing=point.finishing,
            restored_job=None if point.manifest is None else point.manifest.job_id,
        )

    return {SlotIndex(index): message(SlotIndex(index)) for index in range(placement.slots)}


def restore_is_retriable(error: BaseException) -> bool:
    """Return whether a restore that failed with `error` may succeed later: storage and sinks may answer again."""
    retriable = isinstance(error, StorageError | SinkError)
    return retriable and not isinstance(error, DamagedFileError | CommitLostError)


def may_fall_back(plan: JobGraph) -> bool:
    """Return whether an attempt may start from an older checkpoint: it repeats no output, or repeating is allowed."""
    return not repeats_output(plan) or plan.settings.get(options.ALLOW_DUPLICATE_OUTPUT)


def shapes_of(plan: JobGraph, placement: Placement) -> list[OperatorShape]:
    """Return all operators of a job as they run in a placement."""
    return [
        OperatorShape(
            uid=operator.uid,
            uid_hash=operator.uid_hash,
            name=operator.name,
            vertex=vertex.id,
            parallelism=placement.parallelism[vertex.id],
            max_parallelism=vertex.max_parallelism,
            inputs=arrivals_of(plan, vertex) if place == 0 else (Arrival.DEALT,),
        )
        for vertex in plan.vertices
        for place, operator in enumerate(vertex.operators)
    ]


def arrivals_of(plan: JobGraph, vertex: VertexPlan) -> tuple[Arrival, ...]:
    """Return how records are distributed to each input of a vertex."""
    edges = [edge for edge in plan.edges if edge.target_vertex == vertex.id]
    inputs = {edge.input_index for edge in edges}
    return tuple(
        _arrival({edge.partitioning for edge in edges if edge.input_index == index}) for index in sorted(inputs)
    )


def _arrival(partitionings: set[Partitioning]) -> Arrival:
    if Partitioning.KEY_GROUP in partitionings:
        return Arrival.KEYED
    return Arrival.COPIED if partitionings == {Partitioning.BROADCAST} else Arrival.DEALT


def _obstacle(plan: JobGraph, *, acknowledges: bool) -> str | None:
    """Return why no attempt of the job may start from a savepoint, None if it may."""
    if repeats_output(plan) and not plan.settings.get(options.ALLOW_DUPLICATE_OUTPUT):
        return "a sink of the job commits in two phases, and would commit what the savepoint holds"
    if acknowledges:
        return "a source of the job acknowledges what it has read, and would acknowledge what the savepoint holds"
    return None


def _open_savepoint(savepoint: OwnSavepoint, open_store: Callable[[str], CheckpointStore]) -> OpenedSnapshot:
    opened = open_snapshot(savepoint.location, open_store)
    if opened.manifest.checkpoint_id != savepoint.checkpoint_id:
        raise RestoreError(f"another snapshot is there now, of checkpoint {opened.manifest.checkpoint_id}")
    check_files(opened)
    return opened


def _pass_over(savepoint: OwnSavepoint, reason: str) -> None:
    """Log a warning that no attempt starts from the savepoint."""
    _log.warning(
        "the job restarts from its newest checkpoint, though the savepoint %s is newer: %s", savepoint.location, reason
    )
