"""Drivers of one job that take turns at storage: another may act between any two operations of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from greenlet import getcurrent, greenlet

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.epochs import EpochOwner
from headgate.checkpoint.drivers.job_records import begin_attempt, last_attempt
from headgate.checkpoint.drivers.ownership import (
    read_chain,
    record_base,
    store_as_owner,
    superseded,
    take_epoch,
)
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.manifest_storage import Stored
from headgate.checkpoint.restore.latest import Search, resolve_latest
from headgate.checkpoint.store import CheckpointStore, Chunk
from headgate.errors import RestoreError, StorageError
from headgate.ids import Attempt, CheckpointId, JobId
from headgate.state.files import FileHandle
from tests.unit.checkpoint.stores import OverMemory

JOB: Final = JobId("cd61")

Lineage = tuple[str, ...]
"""The checkpoints that came one upon the other, each named by its owner and its id."""


class ObjectStore(OverMemory):
    """A store that overwrites what is there, as an object store does. Manifests it must never be made to overwrite."""

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        data = b"".join(chunks)
        existing = self.files.pop(path, None)
        assert existing in (None, data) or not path.endswith(paths.METADATA), f"{path} is overwritten"
        return super().write(path, [data])


class Turns:
    """A store whose every operation first gives the turn back."""

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._store, name)

        def after_a_turn(*arguments: Any) -> Any:
            if name != "locate":
                give_way()
            return operation(*arguments)

        return after_a_turn


def give_way() -> None:
    """Let others act, when in a driver that takes turns."""
    parent = getcurrent().parent
    if parent is not None:
        parent.switch()


@dataclass
class Job:
    """A job in storage, and what its drivers have told their sinks."""

    store: CheckpointStore
    committed: list[Lineage] = field(default_factory=list)
    lineages: dict[str, Lineage] = field(default_factory=dict)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)

    def restored(self, lineage: Lineage, attempt: Attempt) -> None:
        """A driver starts from the end of this: its sinks commit it, and drop what else earlier attempts prepared."""
        self.told(lineage)
        self.dropped.update(name for name, by in self.attempts.items() if by < attempt and name not in lineage)

    def prepared(self, lineage: Lineage, attempt: Attempt) -> None:
        """All subtasks have acknowledged the checkpoint at the end of this."""
        self.lineages[lineage[-1]], self.attempts[lineage[-1]] = lineage, attempt

    def told(self, lineage: Lineage) -> None:
        """A driver tells its sinks that all of this is to be committed."""
        give_way()
        assert self.dropped.isdisjoint(lineage), "what is to be committed was dropped"
        self.committed.append(lineage)

    def check(self) -> None:
        """Whatever was committed is one history: of any two, one goes on from the other."""
        longest = max(self.committed, key=len)
        assert all(longest[: len(lineage)] == lineage for lineage in self.committed), self.committed


@dataclass
class Driver:
    """A driver that has started: what it stores next goes on from `lineage`."""

    own: EpochOwner
    attempt: Attempt
    lineage: Lineage
    last_id: CheckpointId


def begin(job: Job, nonce: str) -> Driver | None:
    """Take the job over and start from its latest checkpoint; None when another driver has taken it over."""
    store: Any = Turns(job.store)
    own = take_epoch(store, nonce)
    attempt = Attempt(last_attempt(store) + 1)
    try:
        begin_attempt(store, attempt)
        if superseded(store, own) is not None:
            return None
        chain = read_chain(store)
        found = resolve_latest(store, JOB, Search(known_complete=None, may_fall_back=False, chain=chain))
    except (RestoreError, StorageError):
        return None  # such as a file that another driver has deleted: it would try again
    base = found.manifest
    record_base(store, own, chain, CheckpointId(0) if base is None else base.checkpoint_id)
    if superseded(store, own) is not None:
        return None
    lineage = () if base is None else job.lineages[name_of(base)]
    job.restored(lineage, attempt)
    return Driver(own, attempt, lineage, found.last_id)


def store_one(job: Job, driver: Driver) -> bool:
    """Store a checkpoint and have it committed; False when another driver has taken over the job."""
    store: Any = Turns(job.store)
    driver.last_id = CheckpointId(driver.last_id + 1)
    manifest = Manifest(
        job_id=JOB,
        checkpoint_id=driver.last_id,
        attempt=driver.attempt,
        epoch=driver.own.number,
        parent=None,
        trigger_ms=0,
        final=False,
        operators=(),
        nonce=driver.own.nonce,
    )
    driver.lineage = (*driver.lineage, name_of(manifest))
    job.prepared(driver.lineage, driver.attempt)
    if not isinstance(store_as_owner(store, manifest, None), Stored):
        return False
    job.told(driver.lineage)
    return True


def drive(job: Job, nonce: str, checkpoints: int) -> None:
    """What a driver does, until it is taken over."""
    driver = begin(job, nonce)
    for _ in range(checkpoints if driver is not None else 0):
        assert driver is not None
        if not store_one(job, driver):
            return


def name_of(manifest: Manifest) -> str:
    return f"{manifest.owner}:{manifest.checkpoint_id}"


def interleave(drivers: Sequence[Callable[[], object]], pick: Callable[[int], int]) -> None:
    """Run the drivers in turns. `pick` says which of those that still run goes on; a number beyond them: none does."""
    running = [greenlet(driver) for driver in drivers]
    while running:
        chosen = pick(len(running))
        if chosen >= len(running):
            return  # all have crashed
        running[chosen].switch()
        running = [each for each in running if not each.dead]
