"""Owners, which do one piece of blocking work at a time; steps, for work of several owners in turn; writes in doubt.

All state of the job's storage belongs to the loop or to one owner, so it needs no lock. An owner returns what it finds
to the loop as the result of its work.
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
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement
from headgate.runtime.io import Io
from headgate.runtime.job_storage.clean_up import CleanUp
from headgate.runtime.job_storage.lease import Lease, Outcome
from headgate.runtime.job_storage.restore import RestoreResolver
from headgate.runtime.job_storage.sink_commits import SinkCommits
from headgate.runtime.job_storage.source_inputs import SourceInputs

T = TypeVar("T")


@final
class StorageOwner:
    """An `Io` that runs its work on I/O threads, one piece at a time, in the order of `submit`."""

    def __init__(self, io: Io) -> None:
        self._io = io
        self._work: deque[Callable[[], None]] = deque()

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` after all earlier work, then have the loop call `done`. Does not block."""

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
    """A piece of work and its owner."""

    owner: Io
    work: Callable[[], T]


Steps = Generator[Step[Any], Any, T]
"""A generator on the loop that waits for each step, and returns T in the end.

When the process ends, it is dropped in the middle of a step. So it must not have a `finally` with a step in it.
"""


def step(owner: Io, work: Callable[[], T]) -> Steps[T]:
    """Have the owner run `work`; return its result, or raise its exception. For `yield from`."""
    result: T = yield Step(owner, work)
    return result


def run(steps: Steps[T], done: Callable[[T | BaseException], None]) -> None:
    """Run the steps, then call `done` on the loop with their result or exception. Does not block."""

    def go_on(result: object) -> None:
        outcome: T | BaseException
        try:
            following = steps.throw(result) if isinstance(result, BaseException) else steps.send(result)
        except StopIteration as end:
            outcome = end.value
        except BaseException as error:  # noqa: BLE001  # `done` gets it, as from an `Io`
            outcome = error
        else:
            following.owner.submit(following.work, go_on)
            return
        done(outcome)

    go_on(None)


@final
@dataclass(slots=True)
class Parts:
    """The parts of a job's storage and their owners. The loop sets each part as soon as it exists; None before."""

    store: CheckpointStore
    """The job's folder, for reading. Writes and deletions need the lease."""
    open_store: Callable[[str], CheckpointStore]
    snapshot_owner: StorageOwner
    clean_up_owner: StorageOwner
    sink_owner: StorageOwner
    source_owner: StorageOwner
    lease: Lease | None = field(default=None, init=False)
    sinks: SinkCommits | None = field(default=None, init=False)
    inputs: SourceInputs | None = field(default=None, init=False)

    @classmethod
    def of(cls, store: CheckpointStore, open_store: Callable[[str], CheckpointStore], io: Io) -> Parts:
        """Return the parts of a driver without a lease. All owners work on the threads of `io`."""
        return cls(store, open_store, StorageOwner(io), StorageOwner(io), StorageOwner(io), StorageOwner(io))

    def held(self) -> Lease:
        """Return the lease. The job must be prepared."""
        assert self.lease is not None
        return self.lease

    def resolver(self, plan: JobGraph, placement: Placement) -> RestoreResolver:
        """Return the resolver of restores in this placement, which needs the lease."""
        return RestoreResolver(self.store, self.open_store, plan, placement, self.held())

    def clean_up(self) -> CleanUp:
        """Return the clean-up, which needs the lease."""
        return CleanUp(self.held(), self.open_store)

    def folder(self) -> CheckpointStore:
        """Return the job's folder for one write or deletion. A job that had ended before needs no lease. Blocks."""
        return self.store if self.lease is None else self.lease.folder()

    def folder_of(self, root: str | None) -> CheckpointStore:
        """Return the folder of a snapshot, for reading: at `root`, or, for None, the job's folder. Blocks."""
        return self.store if root is None else self.open_store(root)


_log = logging.getLogger(__name__)

SETTLE_RETRY_MS: Final = 200.0
"""Milliseconds before a write in doubt is settled again."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write. `first` writes, and `again` settles a write in doubt; both raise InDoubt while the outcome is unknown.

    `again` is called after `pause_ms(tries)` milliseconds. After `tries_max` calls the write counts as refused; None:
    never. `what` and `in_doubt` describe it in messages.
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
        """Have the owner write; call `known` on the loop with the outcome, once that is known."""
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
        """Return when to call `step` next, None: no need."""
        return min((due_ms for due_ms, _ in self._retries), default=None)

    def step(self, now_ms: float) -> None:
        """Settle the writes in doubt that are due."""
        due = [again for due_ms, again in self._retries if now_ms >= due_ms]
        self._retries = [retry for retry in self._retries if now_ms < retry[0]]
        for again in due:
            again()
