"""Tells whether a piece of work leaves objects, references or memory behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

ROUNDS = 5


def check_nothing_is_left(work: Callable[[], Any], times: int, held: Iterable[Any], *, memory: bool = True) -> None:
    """Assert that `work` leaves nothing behind: no reference to an object of `held`, no object, no block of memory.

    The work is done `times` times in each of some rounds. What counts is the round in which a number grows least,
    because other threads of a test run allocate memory too, and caches fill. References stay exactly as many. Without
    `memory`, only references count: for work whose objects wait for a later clean-up.
    """
    held = list(held)

    def counted() -> list[int]:
        for _ in range(times):
            work()
        gc.collect()
        return [*map(sys.getrefcount, held), *((len(gc.get_objects()), sys.getallocatedblocks()) if memory else ())]

    gc.freeze()  # a collection goes over what the work makes, and not over all that the tests before have left
    counted()
    rounds = [counted() for _ in range(ROUNDS)]
    for at, counts in enumerate(zip(*rounds, strict=True)):
        growth = [now - then for then, now in pairwise(counts)]
        if at < len(held):
            assert 0 in growth, rounds
        else:
            assert min(growth) < times / 2, rounds
