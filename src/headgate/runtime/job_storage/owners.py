"""Owners: who does one piece of blocking work at a time, and steps, which have several owners do theirs in turn.

All state of the job's storage is either the loop's or one owner's, so none of it needs a lock. What an owner finds out
comes back to the loop as the result of its work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from headgate.runtime.io import Io

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
