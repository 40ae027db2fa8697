"""Restoring: which checkpoint or savepoint an attempt starts from, and what each subtask gets of it. All of it blocks.

In this order: the savepoint that the job was stopped with; a newer savepoint of its own than any checkpoint, where that
is wanted; the newest complete checkpoint of its own; the snapshot that the settings name
(`execution.state-recovery.path`); nothing. Whether the snapshot fits the program is found out here,
before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, final

from headgate import options
from headgate.checkpoint import workflow
from headgate.checkpoint.drivers import intents
from headgate.checkpoint.drivers.epochs import Chain
from headgate.checkpoint.drivers.intents import StopIntent
from headgate.checkpoint.handles import InFlightState
from headgate.checkpoint.manifest import Arrival, Manifest, OperatorShape
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.paths import absolute
from headgate.checkpoint.restore.assign import check_backend, follow_uid_hashes
from headgate.checkpoint.restore.in_flight import assign_in_flight
from headgate.checkpoint.restore.resolve import Resolution
from headgate.checkpoint.restore.snapshots import OpenedSnapshot, check_files, open_snapshot
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import DamagedFileError, RestoreError, SinkError, StorageError
from headgate.functions.sink import CommitLostError
from headgate.graph.logical import Partitioning
from headgate.graph.physical import JobPlan, VertexPlan
from headgate.ids import CheckpointId, SubtaskId
from headgate.runtime.master.newest_savepoint import NewestSavepoint
from headgate.runtime.master.sinks import repeats_output


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePoint:
    """What an attempt starts from: a completed checkpoint or savepoint, or nothing. `last_id` is the highest id used.

    The handles in `restored` and `in_flight` are relative to the folder `root`, None: to that of the job. `finishing`:
    the job was stopped with this savepoint, and only commits what it holds. `older` are checkpoints of the job's own
    that are complete as well, newest first.
    """

    manifest: Manifest | None
    last_id: CheckpointId
    restored: dict[SubtaskId, dict[str, RestoredOperator]] = field(default_factory=dict)
    in_flight: dict[SubtaskId, tuple[InFlightState, ...]] = field(default_factory=dict)
    root: str | None = None
    finishing: bool = False
    older: tuple[Manifest, ...] = ()
    late_splits: dict[int, list[Any]] = field(default_factory=dict)

    @property
    def checkpoint_id(self) -> CheckpointId | None:
        """The checkpoint, None: the attempt starts from the beginning."""
        return None if self.manifest is None else self.manifest.checkpoint_id

    @property
    def own(self) -> Manifest | None:
        """The checkpoint if it is one of the job's own, which later ones may build on and retention may delete."""
        return self.manifest if self.root is None else None


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """A snapshot that goes once the job has `num_retained` checkpoints of its own."""

    location: str
    num_retained: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an attempt starts from, and what the search for it saw of the job's own checkpoints."""

    point: RestorePoint
    resolution: Resolution

    @property
    def base(self) -> CheckpointId:
        """What the driver starts from among what the job's drivers have stored; 0 for nothing of that."""
        is_own = self.point.root is None or self.point.finishing
        return self.point.checkpoint_id or CheckpointId(0) if is_own else CheckpointId(0)


@final
@dataclass(slots=True)
class Finder:
    """Finds what one attempt starts from. `chain` tells what of earlier drivers counts, `newest` of savepoints."""

    store: CheckpointStore
    open_store: Callable[[str], CheckpointStore]
    plan: JobPlan
    chain: Chain
    newest: NewestSavepoint = field(default_factory=NewestSavepoint)

    def find(self, known_complete: CheckpointId | None, damaged: dict[CheckpointId, str]) -> Found:
        """Return what to start from; add to `damaged` what turns out to be. Raises RestoreError, StorageError."""
        stop = intents.read_stop(self.store, self.chain)
        while True:
            resolution = self._own(known_complete, damaged, stop)
            if stop is not None:
                return Found(point=self._stopped(stop, resolution), resolution=resolution)
            savepoint = self.newest.open(self.plan, resolution, self.open_store)
            if savepoint is not None:
                try:
                    return Found(point=self._ahead(savepoint, resolution), resolution=resolution)
                except DamagedFileError as error:
                    self.newest.is_damaged(savepoint.root, str(error))
                    continue
            if resolution.manifest is None:
                return Found(point=self._from_outside(resolution), resolution=resolution)
            try:
                point = self._of(self.store, resolution.manifest, resolution)
                return Found(point=replace(point, older=resolution.older), resolution=resolution)
            except DamagedFileError as error:
                damaged[resolution.manifest.checkpoint_id] = str(error)  # which may now be passed over, or may not

    def known_operators(self) -> frozenset[str] | None:
        """Return the uids of the operators that the snapshot to start from knows; None: it cannot be read, or is final.

        Only a look ahead: `find` decides.
        """
        try:
            if intents.read_stop(self.store, self.chain) is not None:
                return None
            manifest = self._own(None, {}, None).manifest
            location = self.plan.settings.get(options.RECOVERY_PATH)
            if manifest is None and location is not None:
                manifest = open_snapshot(absolute(location), self.open_store).manifest
        except (RestoreError, StorageError):
            return None
        found = () if manifest is None else follow_uid_hashes(manifest, shapes_of(self.plan)).operators
        return frozenset(operator.uid for operator in found)

    def claim(self) -> Claim | None:
        """Return the snapshot that the job has claimed, by this driver or an earlier one, if it is not yet gone."""
        location = intents.read_claim(self.store)
        return None if location is None else Claim(location, self.plan.settings.get(options.CHECKPOINTS_RETAINED))

    def _own(
        self, known_complete: CheckpointId | None, damaged: dict[CheckpointId, str], stop: StopIntent | None
    ) -> Resolution:
        search = workflow.Search(
            known_complete=known_complete,
            may_fall_back=stop is not None or may_fall_back(self.plan),
            chain=self.chain,
            damaged=damaged,
        )
        return workflow.resolve_latest(self.store, self.plan.job_id, search)

    def _stopped(self, stop: StopIntent, resolution: Resolution) -> RestorePoint:
        try:
            opened = open_snapshot(stop.location, self.open_store)
            check_files(opened)
        except RestoreError as error:
            raise RestoreError(
                f"the job was stopped with a savepoint, and is to commit what that holds before it ends: {error}"
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
            return RestorePoint(manifest=None, last_id=resolution.last_id)
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
        get, shapes = self.plan.settings.get, shapes_of(self.plan)
        manifest = follow_uid_hashes(manifest, shapes)
        check_backend(manifest, shapes, get(options.STATE_BACKEND))
        restored = workflow.read_assignment(
            store, manifest, shapes, allow_non_restored=get(options.IGNORE_UNCLAIMED_STATE)
        )
        return RestorePoint(
            manifest=manifest,
            last_id=max(resolution.last_id, manifest.checkpoint_id),
            restored=restored,
            in_flight=self._in_flight(manifest, shapes),
        )

    def _in_flight(self, manifest: Manifest, shapes: list[OperatorShape]) -> dict[SubtaskId, tuple[InFlightState, ...]]:
        get = self.plan.settings.get
        if get(options.RECOVER_WITHOUT_CHANNEL_STATE) == manifest.checkpoint_id:
            return {}
        return assign_in_flight(manifest, shapes, allow_non_restored=get(options.IGNORE_UNCLAIMED_STATE))


def begins_anew(plan: JobPlan, subtask: SubtaskId, point: RestorePoint) -> bool:
    """Return whether a source reads from the beginning: nothing is restored, or a snapshot that knows nothing of it.

    One of the job's own may have no state of a source that it knows: what ends a job without checkpoints has none.
    """
    if point.manifest is None:
        return True
    uid = plan.vertex_of(subtask).operators[0].uid
    if point.finishing or uid in point.restored.get(subtask, {}):
        return False
    return point.root is not None or all(operator.uid != uid for operator in point.manifest.operators)


def restore_may_mend(error: BaseException) -> bool:
    """Return whether what could not be restored because of `error` may be later: storage and sinks may answer again."""
    may_mend = isinstance(error, StorageError | SinkError)
    return may_mend and not isinstance(error, DamagedFileError | CommitLostError)


def may_fall_back(plan: JobPlan) -> bool:
    """Return whether an older checkpoint may be used than the newest: no output is repeated, or that is allowed."""
    return not repeats_output(plan) or plan.settings.get(options.ALLOW_DUPLICATE_OUTPUT)


def shapes_of(plan: JobPlan) -> list[OperatorShape]:
    """Return all operators of a job, with how they run."""
    return [
        OperatorShape(
            uid=operator.uid,
            uid_hash=operator.uid_hash,
            name=operator.name,
            vertex=vertex.id,
            parallelism=vertex.parallelism,
            max_parallelism=vertex.max_parallelism,
            inputs=arrivals_of(plan, vertex) if place == 0 else (Arrival.DEALT,),
        )
        for vertex in plan.vertices
        for place, operator in enumerate(vertex.operators)
    ]


def arrivals_of(plan: JobPlan, vertex: VertexPlan) -> tuple[Arrival, ...]:
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
