"""Job storage: everything the job master has done beside its loop, on storage, sources and sinks. All of it blocks."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, final

from headgate import options
from headgate.checkpoint import workflow
from headgate.checkpoint.coordination import StoreManifest
from headgate.checkpoint.manifest import Manifest, OperatorShape, gather_operators
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.registry import SharedFiles
from headgate.checkpoint.store import CheckpointStore
from headgate.checkpoint.workflow import InDoubt, JobResult, Refused, Stored
from headgate.clock import Clock
from headgate.functions.sink import Sink
from headgate.functions.source import Source
from headgate.graph.physical import JobPlan
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.base import expect
from headgate.operators.sink import SinkFactory
from headgate.operators.source import SourceFactory
from headgate.runtime.master.outcome import JobOutcome
from headgate.runtime.master.supervision import JobStatus

__all__ = ["InDoubt", "JobStorage", "Refused", "RestorePoint", "Stored"]

Splits = dict[int, list[Any]]
"""The splits of each source, by vertex."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a driver knows before the first attempt: the splits of a fresh start, and what drivers before it have done.

    `ended` is how the job ended, if it has: nothing may run a second time then.
    """

    splits: Splits
    last_attempt: Attempt
    ended: JobResult | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePoint:
    """What an attempt starts from: a completed checkpoint, or nothing. `last_id` is the highest id ever used."""

    manifest: Manifest | None
    last_id: CheckpointId
    restored: dict[SubtaskId, dict[str, RestoredOperator]] = field(default_factory=dict)

    @property
    def checkpoint_id(self) -> CheckpointId | None:
        """The checkpoint, None: the attempt starts from the beginning."""
        return None if self.manifest is None else self.manifest.checkpoint_id


@final
class JobStorage:
    """The storage of one job. Its methods block and are called beside the loop, from several threads."""

    def __init__(self, store: CheckpointStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def prepare(self, plan: JobPlan) -> Beginning:
        """Check the storage and every sink's target, list every source's splits, look for earlier drivers of this job.

        Raises `SinkError`, `SourceError`, `StorageError`, `ProgramError`.
        """
        ended = workflow.read_result(self._store)
        if ended is not None:
            return Beginning(splits={}, last_attempt=Attempt(0), ended=ended)
        workflow.check_writable(self._store)
        for sink in sinks_of(plan):
            sink.prepare(plan.job_id)
        splits = {
            vertex: expect(list, source.splits(plan.vertices[vertex].parallelism), source, "splits()")
            for vertex, source in sources_of(plan).items()
        }
        return Beginning(splits=splits, last_attempt=workflow.last_attempt(self._store))

    def resolve(self, plan: JobPlan, attempt: Attempt, known_complete: CheckpointId | None) -> RestorePoint:
        """Begin an attempt: find what it starts from. Raises `RestoreError`, `StorageError`."""
        workflow.begin_attempt(self._store, attempt)
        found = workflow.resolve_latest(self._store, plan.job_id, known_complete=known_complete, may_fall_back=False)
        if found.manifest is None:
            return RestorePoint(manifest=None, last_id=found.last_id)
        assignment = workflow.read_assignment(self._store, found.manifest, shapes_of(plan), allow_non_restored=False)
        return RestorePoint(manifest=found.manifest, last_id=found.last_id, restored=assignment)

    def store(self, manifest: Manifest) -> Stored | Refused:
        """Write a manifest. Raises `InDoubt`, after which only `settle` may follow."""
        return workflow.store_manifest(self._store, manifest)

    def settle(self, manifest: Manifest) -> Stored | Refused:
        """Look whether a manifest in doubt is there. Raises `InDoubt` again."""
        return workflow.settle_manifest(self._store, manifest)

    def discard(self, checkpoint_id: CheckpointId, attempt: Attempt) -> None:
        """Delete the files of a checkpoint that was given up."""
        workflow.discard_files(self._store, checkpoint_id, attempt)

    def retain(self, keep: tuple[CheckpointId, ...], shared: SharedFiles) -> None:
        """Delete all checkpoints but these, and the shared files that may go."""
        workflow.retain(self._store, keep, shared)

    def finish(self, plan: JobPlan, outcome: JobOutcome) -> None:
        """Write the durable result, then give sinks back and delete the checkpoints that are not kept."""
        result = JobResult(status=outcome.status.value, cause=outcome.cause, ended_ms=self._clock.wall_ms())
        try:
            workflow.write_result(self._store, result)
        finally:
            self.release(plan)
        if not keeps_checkpoints(plan, outcome.status):
            workflow.delete_checkpoints(self._store)

    def release(self, plan: JobPlan) -> None:
        """Give the targets of all sinks back; raise the first failure of it at the end."""
        with contextlib.ExitStack() as stack:
            for sink in sinks_of(plan):
                stack.callback(sink.release, plan.job_id)


def manifest_of(plan: JobPlan, order: StoreManifest, parent: CheckpointId | None) -> Manifest:
    """Return the manifest of a checkpoint that all subtasks have acknowledged."""
    return Manifest(
        job_id=plan.job_id,
        checkpoint_id=order.checkpoint_id,
        attempt=order.attempt,
        epoch=1,
        parent=parent,
        trigger_ms=order.trigger_ms,
        final=order.final,
        operators=gather_operators(shapes_of(plan), order.states),
    )


def keeps_checkpoints(plan: JobPlan, status: JobStatus) -> bool:
    """Return whether checkpoints stay after a job that ended so, by Flink's retention matrix."""
    retention = plan.settings.get(options.CHECKPOINT_RETENTION)
    if status is JobStatus.FINISHED or retention == "NO_EXTERNALIZED_CHECKPOINTS":
        return False
    return status is JobStatus.FAILED or retention == "RETAIN_ON_CANCELLATION"


def shapes_of(plan: JobPlan) -> list[OperatorShape]:
    """Return all operators of a job, with how they run."""
    return [
        OperatorShape(
            uid=operator.uid,
            name=operator.name,
            vertex=vertex.id,
            parallelism=vertex.parallelism,
            max_parallelism=vertex.max_parallelism,
        )
        for vertex in plan.vertices
        for operator in vertex.operators
    ]


def sources_of(plan: JobPlan) -> dict[int, Source[Any]]:
    """Return the sources of a job by vertex."""
    return {
        vertex.id: vertex.operators[0].factory.source
        for vertex in plan.vertices
        if isinstance(vertex.operators[0].factory, SourceFactory)
    }


def sinks_of(plan: JobPlan) -> list[Sink[Any]]:
    """Return the two-phase sinks of a job."""
    return [
        operator.factory.sink
        for vertex in plan.vertices
        for operator in vertex.operators
        if isinstance(operator.factory, SinkFactory)
    ]
