"""The times at which the keys of sessions are due: the compiled class does what the one in Python does."""

from __future__ import annotations

import contextlib
import gc
import pickle
import random
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.operators.windows.session_state import DueKeys, due_keys
from headgate.state.keyed.timer_index import NEVER
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left

TIMES = st.one_of(st.integers(-5, 20), st.sampled_from([NEVER - 1, NEVER, -(2**63), 2**70]))
KEYS = st.sampled_from(["a", "b", ("c", 1), 7])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["add", "add_earlier"]), TIMES, KEYS),
        st.tuples(st.just("drop"), KEYS),
        st.tuples(st.just("until"), TIMES, st.integers(-1, 6)),
        st.tuples(st.just("next")),
    ),
    max_size=40,
)


def outcome(due: DueKeys, steps: list[tuple[Any, ...]]) -> list[Any]:
    """Return what the calls return. `next` continues the last `until`, so that keys come and go in between."""
    seen: list[Any] = []
    position: Any = iter(())
    for name, *arguments in steps:
        if name == "next":
            seen.append(next(position, "ended"))
        elif name == "until":
            position = due.until(*arguments)
        else:
            seen.append(getattr(due, name)(*arguments))
        seen.append((len(due), due.head_ms))
    return [*seen, list(due.until(2**80, 100))]


@given(STEPS)
def test_keys_are_due_when_they_are_in_python(steps: list[tuple[Any, ...]]) -> None:
    assert outcome(due_keys(compiled_module()), steps) == outcome(due_keys(None), steps)


@given(st.integers(), st.sampled_from([1, 60_000]))
@settings(max_examples=20)
def test_many_times_come_and_go_as_in_python(seed: int, apart_ms: int) -> None:
    pick = random.Random(seed)
    steps: list[tuple[Any, ...]] = []
    for number in range(0, 600, 2):
        steps += [("add", pick.randrange(-200, 200) * apart_ms, each) for each in (number, number + 1)]
        if pick.random() < 0.1:
            steps += [("until", pick.randrange(-200, 200) * apart_ms, 50), *[("next",)] * 60]
    assert outcome(due_keys(compiled_module()), steps) == outcome(due_keys(None), steps)


@pytest.mark.parametrize("native", ["off", "on"])
def test_no_key_is_kept_for_a_time_that_never_comes(native: str) -> None:
    due = due_keys(None if native == "off" else compiled_module())
    due.add(NEVER, "a")
    assert (len(due), due.head_ms, [*due.until(NEVER - 1, 9)]) == (0, NEVER, [])


@pytest.mark.parametrize("native", ["off", "on"])
def test_the_last_keys_of_a_time_go_first_where_there_are_too_many(native: str) -> None:
    due = due_keys(None if native == "off" else compiled_module())
    for key in "abc":
        due.add(5, key)
    position = due.until(9, 2)
    assert [*position] == [(5, ["b", "c"])]
    due.add(6, "d")
    assert next(position, "ended") == "ended"
    assert [*due.until(9, 2)] == [(5, ["a"]), (6, ["d"])]
    assert [*due.until(9, 2)] == []


def test_an_iterator_that_has_ended_stays_so() -> None:
    for native in (None, compiled_module()):
        due = due_keys(native)
        position = due.until(9, 2)
        assert next(position, "ended") == "ended"
        due.add(5, "a")
        assert next(position, "ended") == "ended"


@pytest.mark.parametrize("is_one", [True, False])
def test_sessions_drop_their_keys_where_they_are_told_to(is_one: bool) -> None:
    native = compiled_module()
    notes = due_keys(native)
    drops = notes if is_one else due_keys(native)
    drops.add(5, "a")
    drops.add_earlier(1, "a")
    cells = {"a": [1, 0, 0, "a", 0, 10, "v", None]}
    steps = SimpleNamespace(
        backend=SimpleNamespace(cells=cells, generation=1, enter=None, emptied=[], prefetch=None),
        start=4,
        end=5,
        value=6,
        others=7,
        gap_ms=5,
        keeps=False,
        **dict.fromkeys(["first", "more", "merge", "take"]),
        note=notes.add,
        drop=drops.drop,
    )
    assert native.SessionLoop(steps, None).take([(9, ["a"])]) == (["a"], [(0, 10, "v", False)])
    assert list(drops.until(9, 9)) == [(1, ["a"]), (5, ["a"])]  # of a key that was not dropped, only 1 counts


class Adds:
    """Garbage that looks for due keys while the collector removes it."""

    def __init__(self, due: DueKeys) -> None:
        self.itself = self
        self.due = due

    def __del__(self) -> None:
        list(self.due.until(5, 10**6))


def test_a_finaliser_may_take_out_times_meanwhile() -> None:
    """The times are of no use then; the process survives."""
    due = due_keys(compiled_module())
    for number in range(1000):
        due.add(1, ("key", number))
    position = due.until(5, 10)
    Adds(due)
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        list(position)
    finally:
        gc.set_threshold(*thresholds)


class Hostile:
    """A key that runs code when it is hashed."""

    def __init__(self, due: DueKeys) -> None:
        self.due = due
        self.times: Any = None

    def __hash__(self) -> int:
        if self.times is not None:
            times, self.times = self.times, None
            list(times)
            self.due.add(1, "more")
            gc.collect()
        return 1


def test_the_hash_of_a_key_may_use_the_object() -> None:
    """The times are of no use then; the process survives."""
    due = due_keys(compiled_module())
    key = Hostile(due)
    due.add_earlier(5, key)
    due.add(6, key)
    key.times = due.until(9, 1)
    for _ in range(3):
        key.times = times = due.until(9, 9)
        list(times)
        with contextlib.suppress(KeyError):
            due.drop(key)


def test_it_refuses_what_does_not_fit() -> None:
    due: Any = due_keys(compiled_module())
    for call in (due.add, due.add_earlier, due.until):
        with pytest.raises(TypeError, match="arguments"):
            call(1)
    with pytest.raises(TypeError):
        due.until(1, "many")
    due.add_earlier(1, "a")
    for call in (due.drop, lambda key: due.add(1, key)):
        with pytest.raises(TypeError, match="unhashable"):
            call([])
    with pytest.raises(TypeError):
        list(due.until("no time", 1))
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(due)
    with pytest.raises(TypeError):
        type(due.until(1, 1))()


def test_it_is_collected_with_what_it_refers_to() -> None:
    due = due_keys(compiled_module())
    key = Hostile(due)
    due.add_earlier(5, key)
    key.times = due.until(9, 1)
    seen = weakref.ref(key)
    del due, key
    gc.collect()
    assert seen() is None


def test_nothing_is_left_behind() -> None:
    native = compiled_module()
    key, time = ("key", 1), 10**6

    def work() -> None:
        due = due_keys(native)
        due.add(time, key)
        due.add_earlier(time - 1, key)
        due.add_earlier(time - 2, "other")
        due.add(time - 2, key)
        assert [key for _, keys in due.until(time, 2) for key in keys]
        due.drop(key)
        with contextlib.suppress(TypeError):
            due.add_earlier(time, [])

    check_nothing_is_left(work, 50, [key, time])
