"""What another thread might do at the worst moment, done there for certain: whenever Python collects garbage."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def at_each_collection(act: Callable[[], object]) -> Iterator[None]:
    """Call `act` whenever garbage is collected, which happens at nearly each new object until the block is left."""
    before = gc.get_threshold()

    def _collecting(phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            act()

    gc.callbacks.append(_collecting)
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(_collecting)
