"""Owners: who does one piece of blocking work at a time, and steps, which have several owners do theirs in turn.

All state of the job's storage is either the loop's or one owner's, so none of it needs a lock. What an owner finds out
comes back to the loop as the result of its work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, final

from headgate.checkpoint.store import CheckpointStore
from headgate.runtime.io import Io
from headgate.runtime.job_storage.clean_up import CleanUp
from headgate.runtime.job_storage.lease import Lease
from headgate.runtime.job_storage.sink_commits import SinkCommits
from headgate.runtime.job_storage.snapshots import Snapshots
from headgate.runtime.job_storage.source_inputs import SourceInputs

T = TypeVar("T")


@final
class StorageOwner:
    """An `Io` that does its work on I/O threads one piece after the other, in the order of `submit`."""

    def __init__(self, io: Io) -> None:
        self._io = io
        self._work: deque[Callable[[], None]] = deque()

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Do `work` when all before it is done, then have the loop call `done`. Does not block."""

        def ended(result: T | BaseException) -> None:
            self._work.popleft()
            if self._work:
                self._work[0]()
            done(result)

        self._work.append(lambda: self._io.submit(work, ended))
        if len(self._work) == 1:
            self._work[0]()


@final
@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """A piece of work and who does it."""

    owner: Io
    work: Callable[[], T]


Steps = Generator[Step[Any], Any, T]
"""A function on the loop that waits for each step, and returns T in the end.

It is dropped where it waits when the process ends, so it has no `finally` with a step in it.
"""


def step(owner: Io, work: Callable[[], T]) -> Steps[T]:
    """Have the owner do `work`; return its result, or raise what it raised. For `yield from`."""
    result: T = yield Step(owner, work)
    return result


def run(steps: Steps[T], done: Callable[[T | BaseException], None]) -> None:
    """Do the steps, then call `done` on the loop with what they return or raise. Does not block."""

    def go_on(result: object) -> None:
        outcome: T | BaseException
        try:
            following = steps.throw(result) if isinstance(result, BaseException) else steps.send(result)
        except StopIteration as end:
            outcome = end.value
        except BaseException as error:  # noqa: BLE001  # it comes back as the result, as that of an `Io` does
            outcome = error
        else:
            following.owner.submit(following.work, go_on)
            return
        done(outcome)

    go_on(None)


@final
@dataclass(slots=True)
class Parts:
    """The parts and their owners. Filled on the loop, as the driver comes to have them; None before."""

    store: CheckpointStore
    """The job's folder, to read. To act on it takes the lease."""
    open_store: Callable[[str], CheckpointStore]
    snapshot_owner: StorageOwner
    clean_up_owner: StorageOwner
    sink_owner: StorageOwner
    source_owner: StorageOwner
    lease: Lease | None = field(default=None, init=False)
    snapshots: Snapshots | None = field(default=None, init=False)
    sinks: SinkCommits | None = field(default=None, init=False)
    inputs: SourceInputs | None = field(default=None, init=False)

    @classmethod
    def of(cls, store: CheckpointStore, open_store: Callable[[str], CheckpointStore], io: Io) -> Parts:
        """Return the parts of a driver that has nothing yet; all owners work on the threads of `io`."""
        return cls(store, open_store, StorageOwner(io), StorageOwner(io), StorageOwner(io), StorageOwner(io))

    def held(self) -> Lease:
        """Return the lease of a driver that has prepared its job."""
        assert self.lease is not None
        return self.lease

    def clean_up(self) -> CleanUp:
        """Return what deletes, under the lease."""
        return CleanUp(self.held(), self.open_store)

    def folder(self) -> CheckpointStore:
        """Return the job's folder, to act on; of a job that ended before, which takes no lease any more. Blocks."""
        return self.store if self.lease is None else self.lease.folder()

    def folder_of(self, root: str | None) -> CheckpointStore:
        """Return the folder of a snapshot, to read: that of the job, or another at `root`. Blocks."""
        return self.store if root is None else self.open_store(root)
