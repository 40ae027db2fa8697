"""Owners: each does one piece of blocking work at a time. Steps, for work of several owners in turn. Repeated writes.

All state of the job's storage is either the loop's or one owner's, so none of it needs a lock. What an owner finds out
comes back to the loop as the result of its work.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar, final

from headgate.checkpoint.manifest_storage import InDoubt, Refused
from headgate.checkpoint.store import CheckpointStore
from headgate.clock import Clock
from headgate.runtime.io import Io
from headgate.runtime.job_storage.clean_up import CleanUp
from headgate.runtime.job_storage.lease import Lease, Outcome
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


_log = logging.getLogger(__name__)

SETTLE_RETRY_MS: Final = 200.0
"""Pause before a write in doubt is looked at again."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write. `again` looks whether it is there; both raise InDoubt, which `in_doubt` names, if it cannot tell.

    It is called `pause_ms` later, given how often it was before; after `tries_max` times the write counts as refused,
    None: never.
    """

    what: str
    first: Callable[[], Outcome]
    again: Callable[[], Outcome]
    tries_max: int | None = None
    in_doubt: str = "it is not known whether it is stored"
    pause_ms: Callable[[int], float] = lambda _: SETTLE_RETRY_MS


@final
class Writes:
    """The writes of one job that are in doubt. Owned by the job master's loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._retries: list[tuple[float, Callable[[], None]]] = []

    def submit(self, owner: Io, write: Write, known: Callable[[Outcome], None]) -> None:
        """Have the owner write it; call `known` with the outcome, on the loop."""
        tries = 0

        def done(result: Outcome | BaseException) -> None:
            nonlocal tries
            if not isinstance(result, BaseException):
                known(result)
            elif not isinstance(result, InDoubt | OSError):
                known(Refused(str(result)))
            elif tries == write.tries_max:
                known(Refused(f"{write.in_doubt}: {result}"))
            else:
                _log.warning("%s: %s; trying again: %s", write.what, write.in_doubt, result)
                due_ms = self._clock.monotonic_ms() + write.pause_ms(tries)
                tries += 1
                self._retries.append((due_ms, lambda: owner.submit(write.again, done)))

        owner.submit(write.first, done)

    def wake_ms(self) -> float | None:
        """Return when to step next, None for no need."""
        return min((due_ms for due_ms, _ in self._retries), default=None)

    def step(self, now_ms: float) -> None:
        """Look again at what is due."""
        due = [again for due_ms, again in self._retries if now_ms >= due_ms]
        self._retries = [retry for retry in self._retries if now_ms < retry[0]]
        for again in due:
            again()
