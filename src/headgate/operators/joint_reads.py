"""Reads of state that are wanted at the same time, and are done in one go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar, final

T = TypeVar("T")


@final
class JointReads(Generic[T]):
    """Gathers what coroutines want, and reads it all when each has run up to where it waits.

    >>> from headgate.clock import VirtualClock
    >>> from headgate.operators.stepped_loop import SteppedLoop
    >>> loop = SteppedLoop(VirtualClock())
    >>> reads = JointReads(loop, print)
    >>> naps = [loop.create_task(reads.wanted(key)) for key in "ab"]
    >>> loop.step()
    ['a', 'b']
    >>> loop.end()
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, read: Callable[[list[T]], None]) -> None:
        self._loop = loop
        self._read = read
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []

    async def wanted(self, item: T) -> None:
        """Wait until the item is read, with all that are wanted meanwhile. Raises what a read of it alone raises."""
        if not self._waiting:
            self._loop.call_soon(self._read_all)
        future = self._loop.create_future()
        self._waiting.append((item, future))
        await future

    def _read_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        has_failed = self._error_of([item for item, _ in waiting]) is not None
        for item, future in waiting:
            error = self._error_of([item]) if has_failed else None
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    def _error_of(self, items: list[T]) -> Exception | None:
        try:
            self._read(items)
        except Exception as error:  # noqa: BLE001  # also what a class of the user raises when it is read
            return error
        return None
