"""Manifests for tests."""

from __future__ import annotations

from headgate.checkpoint.handles import ListStateHandle, OperatorState
from headgate.checkpoint.manifest import Manifest, OperatorManifest
from headgate.ids import Attempt, CheckpointId, JobId
from headgate.state.files import FileHandle, InlineHandle, KeyedState, StateFile, StateHandle
from headgate.state.operator.list_elements import ListMode

JOB = JobId("cd61")


def file(path: str) -> FileHandle:
    return FileHandle(path, 10, 0xBEEF)


def keyed(uid: str, first: int, last: int, handle: StateHandle | None = None) -> OperatorState:
    base = (StateFile("keyed", handle or InlineHandle(b"keyed")),)
    return OperatorState(uid=uid, keyed=KeyedState(key_groups=(first, last), kind="entries", base=base))


def listed(uid: str, *names: str, mode: ListMode = ListMode.SPLIT) -> OperatorState:
    return OperatorState(uid=uid, lists={name: ListStateHandle(mode, InlineHandle(b"list"), "[]") for name in names})


def operator(uid: str, *states: OperatorState | None, max_parallelism: int = 128) -> OperatorManifest:
    return OperatorManifest(
        uid=uid,
        name=uid.title(),
        parallelism=len(states),
        max_parallelism=max_parallelism,
        subtasks={index: state for index, state in enumerate(states) if state is not None},
    )


def manifest(checkpoint_id: int, *operators: OperatorManifest, job_id: JobId = JOB) -> Manifest:
    return Manifest(
        job_id=job_id,
        checkpoint_id=CheckpointId(checkpoint_id),
        attempt=Attempt(1),
        epoch=1,
        parent=CheckpointId(checkpoint_id - 1) if checkpoint_id > 1 else None,
        trigger_ms=1_700_000_000_000,
        final=False,
        operators=operators,
    )
