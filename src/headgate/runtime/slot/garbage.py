"""Garbage collection in the process of a slot, which may hold millions of objects that live long.

Python's collector goes over everything that lives, each time that a quarter has been added; with the keyed state of
millions of keys that stops the loop for seconds, again and again while state grows or snapshots are under way. State
itself is freed by reference counts and is hardly ever part of a cycle. So what has survived a full collection is set
aside (`gc.freeze`) and not looked at again, until the memory of the process has grown by half since the last time: only
then is everything gone over, in case that what grows is garbage. And it looks through young objects seldom.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

GROWTH: Final = 1.5
_YOUNG_MAX: Final = 50_000
"""How many objects are made before the collector looks through them: those of some batches, most of them gone then."""


@contextmanager
def survivors_set_aside() -> Iterator[None]:
    """Set aside what survives collections in this process, as long as the context lasts, and all there is before it."""
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
    """Collect nothing meanwhile: for work that makes many objects that stay, and would be looked through in vain."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@final
class SetAside:
    """The rule, as a callback of the collector."""

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
    """Return the most memory that the process has had, in units of the system's."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
