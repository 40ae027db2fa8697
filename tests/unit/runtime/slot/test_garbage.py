"""Garbage collection in the process of a slot."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from headgate.runtime.slot import garbage
from headgate.runtime.slot.garbage import SetAside, survivors_set_aside

pytestmark = pytest.mark.slow  # whatever the tests before have left is gone over each time


@pytest.fixture(autouse=True)
def _aside_again() -> Iterator[None]:
    """The tests themselves are set aside again, as they are at the start."""
    yield
    gc.freeze()


class Node:
    """May be part of a cycle."""

    def __init__(self) -> None:
        self.itself = self


def test_what_survived_a_full_collection_is_not_gone_over_again() -> None:
    with survivors_set_aside():
        before = gc.get_freeze_count()
        kept = [[] for _ in range(10_000)]  # type: list[list[int]]
        gc.collect()
        assert gc.get_freeze_count() - before >= len(kept)


def test_nothing_stays_set_aside_afterwards() -> None:
    with survivors_set_aside():
        gc.collect()
    assert gc.get_freeze_count() == 0


def test_young_cycles_are_collected() -> None:
    with survivors_set_aside():
        gc.collect()
        gone = weakref.ref(Node())
        gc.collect()
        assert gone() is None


def test_old_cycles_are_collected_once_memory_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    peak = 100
    monkeypatch.setattr(garbage, "_memory_peak", lambda: peak)
    with survivors_set_aside():
        node = Node()
        gone = weakref.ref(node)
        gc.collect()
        del node
        peak = 149
        gc.collect()
        assert gone() is not None
        peak = 151
        gc.collect()
        assert gone() is None


def test_memory_has_to_grow_by_half_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    peak = 100
    monkeypatch.setattr(garbage, "_memory_peak", lambda: peak)
    rule = SetAside()
    peak = 151
    rule("start", {"generation": 2})
    rule("stop", {"generation": 2})
    aside = gc.get_freeze_count()
    peak = 220
    rule("start", {"generation": 2})
    assert gc.get_freeze_count() == aside
    peak = 230
    rule("start", {"generation": 2})
    assert gc.get_freeze_count() == 0


def test_young_generations_set_nothing_aside() -> None:
    with survivors_set_aside():
        gc.unfreeze()
        gc.collect(1)
        assert gc.get_freeze_count() == 0


def test_what_was_there_before_is_not_gone_over() -> None:
    kept = [[] for _ in range(10_000)]  # type: list[list[int]]
    gc.unfreeze()
    with survivors_set_aside():
        assert gc.get_freeze_count() >= len(kept)


def test_young_objects_are_looked_through_seldom_and_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with survivors_set_aside():
        assert gc.get_threshold()[0] > 10 * before[0]
    assert gc.get_threshold() == before


def test_nothing_is_collected_while_collecting_is_paused() -> None:
    assert gc.isenabled()
    with garbage.paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_program_that_collects_nothing_itself_goes_on_so() -> None:
    gc.disable()
    try:
        with garbage.paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
