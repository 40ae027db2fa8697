"""The times at which the keys of sessions are due: the compiled class does what the one in Python does."""

from __future__ import annotations

import contextlib
import gc
import pickle
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.operators.windows.session_state import DueKeys, due_keys
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left

TIMES = st.one_of(st.integers(-5, 20), st.sampled_from([2**63 - 1, 2**63, -(2**63), 2**70]))
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
