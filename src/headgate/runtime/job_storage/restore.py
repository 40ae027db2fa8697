"""Restoring: which checkpoint or savepoint an attempt starts from, and what each subtask gets of it. All of it blocks.

In this order: the savepoint that the job was stopped with; a newer savepoint of its own than any checkpoint, where that
is wanted; the newest complete checkpoint of its own; the snapshot that the settings name
(`execution.state-recovery.path`); nothing. Whether the snapshot fits the program is found out here,
before anything runs.

A savepoint of the job's own is used only with `execution.checkpointing.prefer-checkpoint-for-recovery: false`, and only
where that is exactly once. The savepoint is its user's, and may be deleted before the next restart. So nothing that was
done when the savepoint was restored may do harm if the job then restarts from the checkpoint. A sink that had committed
would write twice, and a source that had acknowledged would not read again: such jobs restart from the checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import final

from headgate import options
from headgate.checkpoint.drivers import intents
from headgate.checkpoint.drivers.epochs import Chain
from headgate.checkpoint.drivers.intents import StopIntent
from headgate.checkpoint.handles import InFlightState
from headgate.checkpoint.manifest import Arrival, Manifest, OperatorShape
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.paths import absolute
from headgate.checkpoint.restore.assign import check_backend, follow_uid_hashes
from headgate.checkpoint.restore.in_flight import assign_in_flight
from headgate.checkpoint.restore.latest import Search, read_assignment, resolve_latest
from headgate.checkpoint.restore.resolve import OwnSavepoint, Resolution, savepoint_ahead
from headgate.checkpoint.restore.snapshots import OpenedSnapshot, check_files, open_snapshot
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import DamagedFileError, RestoreError, SinkError, StorageError
from headgate.functions.sink import CommitLostError
from headgate.graph.job_graph import JobGraph, VertexPlan
from headgate.graph.logical import Partitioning
from headgate.graph.placement import Placement
from headgate.ids import CheckpointId, SubtaskId
from headgate.runtime.job_storage.sink_commits import repeats_output
from headgate.runtime.job_storage.sources import Splits


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePoint:
    """What an attempt starts from: a completed checkpoint or savepoint, or nothing. `last_id` is the highest id used.

    The handles in `restored` and `in_flight` are relative to the folder `root`, None: to that of the job. `finishing`:
    the job was stopped with this savepoint, and only commits what it holds. `older` are checkpoints of the job's own
    that are complete as well, newest first. `placement` has the subtasks that it is dealt to.
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
    """At least those of the sources that begin to read from here."""

    @property
    def checkpoint_id(self) -> CheckpointId | None:
        """The checkpoint, None: the attempt starts from the beginning."""
        return None if self.manifest is None else self.manifest.checkpoint_id

    @property
    def own(self) -> Manifest | None:
        """The checkpoint if it is one of the job's own, which later ones may build on and retention may delete."""
        return self.manifest if self.root is None else None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What this driver knows of the job's snapshots that storage does not tell.

    `damaged` are checkpoints with a file that is not what was written, with why. `savepoint` is the newest that is
    complete and that the job was not to end with. `acknowledges`: sources acknowledge what they have read.
    """

    complete: CheckpointId | None = None
    damaged: Mapping[CheckpointId, str] = field(default_factory=dict)
    savepoint: OwnSavepoint | None = None
    acknowledges: bool = False

    def with_damaged(self, checkpoint_id: CheckpointId, reason: str) -> Known:
        """Return this with one more checkpoint that is damaged."""
        return replace(self, damaged={**self.damaged, checkpoint_id: reason})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an attempt starts from, what the search for it saw of the job's own checkpoints, and what is known now."""

    point: RestorePoint
    resolution: Resolution
    known: Known

    @property
    def base(self) -> CheckpointId:
        """What the driver starts from among what the job's drivers have stored; 0 for nothing of that."""
        is_own = self.point.root is None or self.point.finishing
        return self.point.checkpoint_id or CheckpointId(0) if is_own else CheckpointId(0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What can be told of the first start of a driver before `RestoreResolver.find` decides.

    `goes_on`: from something of the job's own, as far as can be told. `operators` are the uids that the snapshot knows;
    None: it cannot be read, or is final.
    """

    goes_on: bool
    operators: frozenset[str] | None


@final
@dataclass(frozen=True, slots=True)
class RestoreResolver:
    """Finds what an attempt of this placement starts from. `chain` tells what of earlier drivers counts."""

    store: CheckpointStore
    open_store: Callable[[str], CheckpointStore]
    plan: JobGraph
    placement: Placement
    chain: Chain

    def find(self, known: Known) -> Found:
        """Return what to start from. Raises RestoreError, StorageError."""
        stop = intents.read_stop(self.store, self.chain)
        while True:
            resolution = self._own(known, stop)
            if stop is not None:
                return Found(point=self._stopped(stop, resolution), resolution=resolution, known=known)
            savepoint = open_savepoint(
                self.plan, known.savepoint, resolution, self.open_store, acknowledges=known.acknowledges
            )
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
            except DamagedFileError as error:  # which may now be passed over, or may not
                known = known.with_damaged(resolution.manifest.checkpoint_id, str(error))

    def look_ahead(self) -> Ahead:
        """Return what can be told of the start before it is decided on."""
        try:
            if intents.read_stop(self.store, self.chain) is not None:
                return Ahead(goes_on=True, operators=None)
            manifest = self._own(Known(), None).manifest
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
        """Return which checkpoints of the job are complete."""
        return self._search(known, may_fall_back=True)

    def _own(self, known: Known, stop: StopIntent | None) -> Resolution:
        return self._search(known, may_fall_back=stop is not None or may_fall_back(self.plan))

    def _search(self, known: Known, *, may_fall_back: bool) -> Resolution:
        search = Search(
            known_complete=known.complete, may_fall_back=may_fall_back, chain=self.chain, damaged=known.damaged
        )
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

    def _ahead(self, opened: OpenedSnapshot, resolution: Resolution) -> RestorePoint:
        """Start from a savepoint of the job's own, as from one of another job; all checkpoints are older."""
        point = self._opened(opened, resolution, finishing=False)
        newest = () if resolution.manifest is None else (resolution.manifest,)
        return replace(point, older=(*newest, *resolution.older))

    def _from_outside(self, resolution: Resolution) -> RestorePoint:
        location = self.plan.settings.get(options.RECOVERY_PATH)
        if location is None:
            return RestorePoint(placement=self.placement, manifest=None, last_id=resolution.last_id)
        location = absolute(location)  # slots that run in other folders open it, too
        opened = open_snapshot(location, self.open_store)
        check_files(opened)
        point = self._opened(opened, resolution, finishing=False)
        if self.plan.settings.get(options.CLAIM_MODE) == "CLAIM":
            intents.record_claim(self.store, location)
        elif intents.read_claim(self.store) == location:
            intents.drop_claim(self.store)  # an earlier driver was told otherwise, and has made nothing of it
        return point

    def _opened(self, opened: OpenedSnapshot, resolution: Resolution, *, finishing: bool) -> RestorePoint:
        point = self._of(opened.store, opened.manifest, resolution)
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
    """Return what is known when a file of the savepoint is damaged: none begins from it again."""
    assert known.savepoint is not None
    pass_over(known.savepoint, reason)
    return replace(known, savepoint=None)


def starts_fresh(plan: JobGraph, subtask: SubtaskId, point: RestorePoint) -> bool:
    """Return whether a source reads from the beginning: nothing is restored, or a snapshot that knows nothing of it.

    One of the job's own may have no state of a source that it knows: what ends a job without checkpoints has none.
    """
    if point.manifest is None:
        return True
    uid = plan.vertex_of(subtask).operators[0].uid
    if point.finishing or uid in point.restored.get(subtask, {}):
        return False
    return point.root is not None or all(operator.uid != uid for operator in point.manifest.operators)


def restore_is_retriable(error: BaseException) -> bool:
    """Return whether what could not be restored because of `error` may be later: storage and sinks may answer again."""
    retriable = isinstance(error, StorageError | SinkError)
    return retriable and not isinstance(error, DamagedFileError | CommitLostError)


def may_fall_back(plan: JobGraph) -> bool:
    """Return whether an older checkpoint may be used than the newest: no output is repeated, or that is allowed."""
    return not repeats_output(plan) or plan.settings.get(options.ALLOW_DUPLICATE_OUTPUT)


def shapes_of(plan: JobGraph, placement: Placement) -> list[OperatorShape]:
    """Return all operators of a job, with how they run in a placement."""
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
    """Return how records come to each input of a vertex."""
    edges = [edge for edge in plan.edges if edge.target_vertex == vertex.id]
    inputs = {edge.input_index for edge in edges}
    return tuple(
        _arrival({edge.partitioning for edge in edges if edge.input_index == index}) for index in sorted(inputs)
    )


def _arrival(partitionings: set[Partitioning]) -> Arrival:
    if Partitioning.KEY_GROUP in partitionings:
        return Arrival.KEYED
    return Arrival.COPIED if partitionings == {Partitioning.BROADCAST} else Arrival.DEALT


_log = logging.getLogger(__name__)


def open_savepoint(
    plan: JobGraph,
    savepoint: OwnSavepoint | None,
    found: Resolution,
    open_store: Callable[[str], CheckpointStore],
    *,
    acknowledges: bool,
) -> OpenedSnapshot | None:
    """Return the savepoint if an attempt is to begin from it, None: from what was `found`. Warns when that is older.

    `acknowledges`: sources of the job acknowledge what they have read. Blocks.
    """
    ahead = None if plan.settings.get(options.PREFER_CHECKPOINT) else savepoint_ahead(savepoint, found)
    if ahead is None:
        return None
    obstacle = _obstacle(plan, acknowledges=acknowledges)
    try:
        if obstacle is None:
            return _opened(ahead, open_store)
    except (RestoreError, StorageError) as error:
        obstacle = str(error)
    pass_over(ahead, obstacle)
    return None


def _obstacle(plan: JobGraph, *, acknowledges: bool) -> str | None:
    """Return why no attempt of the job may begin from a savepoint, None if it may."""
    if repeats_output(plan) and not plan.settings.get(options.ALLOW_DUPLICATE_OUTPUT):
        return "a sink of the job commits in two phases, and would commit what the savepoint holds"
    if acknowledges:
        return "a source of the job acknowledges what it has read, and would acknowledge what the savepoint holds"
    return None


def _opened(savepoint: OwnSavepoint, open_store: Callable[[str], CheckpointStore]) -> OpenedSnapshot:
    opened = open_snapshot(savepoint.location, open_store)
    if opened.manifest.checkpoint_id != savepoint.checkpoint_id:
        raise RestoreError(f"another snapshot is there now, of checkpoint {opened.manifest.checkpoint_id}")
    check_files(opened)
    return opened


def pass_over(savepoint: OwnSavepoint, reason: str) -> None:
    """Warn that no attempt begins from the savepoint."""
    _log.warning(
        "the job restarts from its newest checkpoint, though the savepoint %s is newer: %s", savepoint.location, reason
    )
