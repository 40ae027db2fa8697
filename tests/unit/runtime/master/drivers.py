"""Drivers of one job on a real folder, plans with and without a two-phase sink, and snapshots to start from."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.handles import ListState, OperatorState
from headgate.checkpoint.manifest import Manifest, OperatorManifest, encode
from headgate.checkpoint.workflow import Stored
from headgate.clock import VirtualClock
from headgate.functions.sink import Committer, Sink, SinkContext, SinkWriter
from headgate.graph.physical import JobPlan
from headgate.ids import Attempt, CheckpointId, JobId
from headgate.operators.map import MapFactory
from headgate.operators.sink import SinkFactory
from headgate.runtime.master.job_storage import JobStorage
from headgate.runtime.master.outcome import JobOutcome
from headgate.runtime.master.supervision import JobStatus
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


def plan_with(sink: Any = None, **settings: str) -> JobPlan:
    last = Step(MapFactory(str)) if sink is None else Step(SinkFactory(sink))
    keys = {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
    return line_plan([1, 2], last, settings={"execution.checkpointing.interval": "1 s", **keys})


PLAN = plan_with()
SINK = plan_with(Committing())


class Rig:
    """The storage of a job in a folder of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = FileSystemStore.open(str(folder), JOB_ID)

    def driver(self) -> JobStorage:
        """A driver of the job, which has taken it over from those before."""
        driver = JobStorage(self.store, VirtualClock(), FileSystemStore.open_folder)
        driver.prepare(PLAN)
        return driver

    def has(self, path: str) -> bool:
        return self.store.read(path) is not None


def listed(*names: str) -> OperatorState:
    handle = InlineHandle(pickle.dumps([b"x"]))
    return OperatorState(uid="op1", lists={name: ListState(ListMode.SPLIT, handle) for name in names})


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


def complete(driver: JobStorage, *ids: int) -> None:
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
