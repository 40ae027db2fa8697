"""Garbage collection in the process of a slot, which may hold millions of long-lived objects.

Python's collector visits all live objects each time that their number has grown by a quarter. With the keyed state of
millions of keys, each full collection stops the loop for seconds. But reference counts free state, which is hardly ever
part of a cycle. So objects that have survived a full collection are set aside (`gc.freeze`). The collector visits them
again only when the memory of the process has grown by half, because the growth may be garbage. Collections of young
objects are rare, too.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

GROWTH: Final = 1.5
_YOUNG_MAX: Final = 50_000
"""The number of new objects before a young collection: the objects of some batches, most of which are freed by then."""


@contextmanager
def survivors_set_aside() -> Iterator[None]:
    """Set aside all present objects, and, while the context lasts, the objects that survive collections."""
    policy = SetAside()
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_YOUNG_MAX, *thresholds[1:])
    gc.callbacks.append(policy)
    try:
        yield
    finally:
        gc.callbacks.remove(policy)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


@contextmanager
def paused() -> Iterator[None]:
    """Disable the collector in the context: for work that makes many long-lived objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@final
class SetAside:
    """A callback of the collector that sets survivors aside."""

    def __init__(self) -> None:
        self._memory_max = GROWTH * _memory_peak()

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < 2:
            return
        if phase == "start":
            self._begin(_memory_peak())
        else:
            gc.freeze()

    def _begin(self, memory_peak: int) -> None:
        if memory_peak > self._memory_max:
            self._memory_max = GROWTH * memory_peak
            gc.unfreeze()


def _memory_peak() -> int:
    """Return the peak memory of the process, in units of the operating system."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
