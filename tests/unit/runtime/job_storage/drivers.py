"""Drivers of one job on a real folder, plans with and without a two-phase sink, and snapshots to start from."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.handles import ListStateHandle, OperatorState
from headgate.checkpoint.manifest import Manifest, OperatorManifest, encode
from headgate.checkpoint.manifest_storage import Stored
from headgate.checkpoint.store import CheckpointStore
from headgate.clock import VirtualClock
from headgate.functions.sink import Committer, Sink, SinkContext, SinkWriter
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, CheckpointId, JobId
from headgate.job_status import JobStatus
from headgate.operators.plain_functions import MapFactory
from headgate.operators.sink import SinkFactory
from headgate.runtime.job_storage.job_storage import JobStorage
from headgate.runtime.job_storage.lease import Outcome, PriorRuns
from headgate.runtime.job_storage.restore import RestorePoint
from headgate.runtime.monitoring.outcome import JobOutcome
from headgate.state.files import FileHandle, InlineHandle, KeyedKind, KeyedState, StateFile
from headgate.state.operator.list_elements import ListMode
from tests.unit.runtime.plans import JOB_ID, Step, line_plan

ONE, TWO = CheckpointId(1), CheckpointId(2)
FIRST = Attempt(1)
OTHER = JobId("ef" * 16)


class Committing(Sink[str]):
    """A two-phase sink."""

    def writer(self, context: SinkContext) -> SinkWriter[str]:
        raise NotImplementedError

    def committer(self, context: SinkContext) -> Committer[str]:
        raise NotImplementedError


def plan_with(sink: Any = None, **settings: str) -> JobGraph:
    last = Step(MapFactory(str)) if sink is None else Step(SinkFactory(sink))
    keys = {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
    return line_plan([1, 2], last, settings={"execution.checkpointing.interval": "1 s", **keys})


PLAN = plan_with()
SINK = plan_with(Committing())


class AtOnce:
    """Work is done, and its result told, before `submit` returns."""

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        result: Any
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  # a result, as of any `Io`
            result = error
        done(result)


class Driver:
    """One driver of a job, each call of which is over when it returns."""

    def __init__(self, store: CheckpointStore, open_store: Any = FileSystemStore.open_folder) -> None:
        self.storage = JobStorage(store, AtOnce(), VirtualClock(), open_store)
        self.plan = PLAN
        self.tidy = self.storage.tidy
        self.discard = self.storage.discard
        self.note_damaged = self.storage.note_damaged

    def prepare(self, plan: JobGraph) -> PriorRuns:
        result: PriorRuns = result_of(lambda done: self.storage.prepare(plan, done))
        return result

    def resolve(self, plan: JobGraph, attempt: Attempt, known_complete: CheckpointId | None) -> RestorePoint:
        self.plan = plan
        result: RestorePoint = result_of(
            lambda done: self.storage.resolve(plan, attempt, as_programmed(plan), known_complete, done)
        )
        return result

    def store(self, manifest: Manifest, savepoint: str | None = None, *, stops: bool = False) -> Outcome:
        result: Outcome = result_of(lambda done: self.storage.store(manifest, savepoint, done, stops=stops))
        return result

    def record_stop(self, checkpoint_id: CheckpointId, savepoint: str) -> Outcome:
        result: Outcome = result_of(lambda done: self.storage.record_stop(checkpoint_id, savepoint, done))
        return result

    def retain(self, keep: tuple[CheckpointId, ...], shared: SharedFiles) -> None:
        self.storage.retain(self.plan, keep, shared, lambda: None)

    def prepare_savepoint(self, location: str) -> None:
        result_of(lambda done: self.storage.prepare_savepoint(location, done))

    def finish(self, plan: JobGraph, outcome: JobOutcome) -> None:
        result_of(lambda done: self.storage.finish(plan, outcome, done))


def result_of(call: Callable[[Callable[[Any], None]], None]) -> Any:
    """Return what a call is answered, or raise it."""
    results: list[Any] = []
    call(results.append)
    (result,) = results
    if isinstance(result, BaseException):
        raise result
    return result


class Rig:
    """The storage of a job in a folder of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = FileSystemStore.open(str(folder), JOB_ID)

    def driver(self, plan: JobGraph = PLAN) -> Driver:
        """A driver of the job, which has taken it over from those before."""
        driver = Driver(self.store)
        driver.prepare(plan)
        return driver

    def has(self, path: str) -> bool:
        return self.store.read(path) is not None


def listed(*names: str) -> OperatorState:
    handle = InlineHandle(pickle.dumps([b"x"]))
    return OperatorState(uid="op1", lists={name: ListStateHandle(ListMode.SPLIT, handle) for name in names})


def keyed(path: str, kind: KeyedKind = "entries", size: int = 4) -> OperatorState:
    handle = FileHandle(path, size, 0)
    return OperatorState(
        uid="op1", keyed=KeyedState(key_groups=(0, 127), kind=kind, base=(StateFile("keyed", handle),))
    )


def snapshot(checkpoint_id: int, *states: OperatorState, **changes: Any) -> Manifest:
    op = OperatorManifest(
        uid=changes.pop("uid", "op1"),
        name="op1",
        parallelism=max(len(states), 1),
        max_parallelism=changes.pop("max_parallelism", 128),
        subtasks=dict(enumerate(states)),
    )
    base = Manifest(
        job_id=JOB_ID,
        checkpoint_id=CheckpointId(checkpoint_id),
        attempt=FIRST,
        epoch=0,
        parent=None,
        trigger_ms=0,
        final=False,
        operators=(op,),
    )
    return replace(base, **changes)


def complete(driver: Driver, *ids: int) -> None:
    for checkpoint_id in ids:
        assert driver.store(snapshot(checkpoint_id, listed("a"))) == Stored()


def elsewhere(folder: Path, of: Manifest, *files: str) -> str:
    """Put a snapshot into a folder of its own; return its location."""
    own = folder / OTHER / f"chk-{of.checkpoint_id}" if of.savepoint is None else folder / "savepoint-ef"
    own.mkdir(parents=True)
    (own / paths.METADATA).write_bytes(encode(replace(of, job_id=OTHER)))
    root = own.parent if of.savepoint is None else own
    for name in files:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(bytes(4))
    return str(own)


def outcome(status: JobStatus) -> JobOutcome:
    return JobOutcome(job_id=JOB_ID, status=status, cause=None, runtime_ms=1.0, counters={})
