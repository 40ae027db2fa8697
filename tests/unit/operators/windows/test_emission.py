"""Values of windows are emitted compiled as in Python."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.operators.windows.emission import Emission, emission
from headgate.types.record_copies import BY_VALUE, passing_by_value
from tests.compiled import compiled_module

kept: list[Any] = []


def result(value: Any) -> Any:
    """Return None, a number, a new list, or one that is held elsewhere too; or fail."""
    if value == "fails":
        raise ValueError(value)
    if value == "held":
        kept.append([value])
        return kept[-1]
    return None if value == "nothing" else [value] if value == "new" else value


def none_made() -> None:
    raise TypeError("add() returned None")


def emitted(make: Callable[[], Emission], items: list[Any], method: str) -> Any:
    """Return all that can be seen of an emission, also which results are held elsewhere."""
    kept.clear()
    out: list[Any] = ["before"]
    times: list[int] = [0]
    position = iter(items)
    error: Any = None
    try:
        if method == "windows":
            make().emit_windows(position, out)
        else:
            make().emit_sessions(position, out, times)
    except (ValueError, TypeError) as raised:
        error = type(raised), str(raised)
    return out, times, error, len(list(position)), [any(each is other for other in kept) for each in out]


def loops(native: ModuleType, *, by_value: bool) -> list[Callable[[], Emission]]:
    compiled = passing_by_value(native).extend if by_value else list.extend
    in_python = BY_VALUE.extend if by_value else list.extend
    return [
        lambda: emission(None, result, none_made, in_python),
        lambda: emission(native, result, none_made, compiled),
        lambda: emission(native, result, none_made, in_python),
    ]


VALUES = st.sampled_from([1, "fails", "held", "new", "nothing", (1, 2)]) | st.none()
SESSIONS = st.tuples(st.integers(), st.integers() | st.just(2**63), VALUES, st.booleans())


@given(st.lists(st.tuples(st.just("key"), VALUES), max_size=8), st.booleans())
def test_values_of_windows_are_emitted_as_in_python(items: list[Any], by_value: bool) -> None:
    wanted, *found = (emitted(each, items, "windows") for each in loops(compiled_module(), by_value=by_value))
    assert found == [wanted, wanted]


@given(st.lists(SESSIONS, max_size=8), st.booleans())
def test_values_of_sessions_are_emitted_as_in_python(items: list[Any], by_value: bool) -> None:
    wanted, *found = (emitted(each, items, "sessions") for each in loops(compiled_module(), by_value=by_value))
    assert found == [wanted, wanted]


def test_an_emission_refuses_what_does_not_fit() -> None:
    native = compiled_module()
    made = native.Emission(result, none_made, list.extend)
    for wrong in ([5], [(1,)], [(1, 2, 3)], 5):
        with pytest.raises(TypeError):
            made.emit_windows(wrong, [])
    for session in (5, (0, 10, 1), [0, 10, 1, False], (0, "no end", 1, False)):
        with pytest.raises(TypeError):
            made.emit_sessions([session], [], [])
    with pytest.raises(TypeError):
        made.emit_sessions(5, [], [])
    lacking: list[tuple[Any, ...]] = [((),), ((), ()), ((), [], ()), ()]
    for arguments in lacking:
        with pytest.raises(TypeError):
            made.emit_sessions(*arguments)
        with pytest.raises(TypeError):
            made.emit_windows(*arguments)
    with pytest.raises(TypeError):
        native.Emission(result)
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(made)


def test_an_emission_is_collected_with_what_it_refers_to() -> None:
    native = compiled_module()

    class Result:
        def __call__(self, value: Any) -> Any:
            return value

    made: Any = Result()
    made.emission = native.Emission(made, made, made)
    seen = weakref.ref(made)
    del made
    gc.collect()
    assert seen() is None


def test_no_reference_is_left_behind() -> None:
    native = compiled_module()
    value, key, end = ("a", "value"), ("a", "key"), 10**6

    def all_ways() -> None:
        for last in (value, "fails", "held", None):
            for make in loops(native, by_value=True):
                emitted(make, [(key, value), (key, last)], "windows")
                emitted(make, [(0, end, value, False), (0, end, last, False)], "sessions")
        kept.clear()

    def references() -> list[int]:
        gc.collect()
        return [sys.getrefcount(each) for each in (value, key, end, None)]

    all_ways()
    before = references()
    for _ in range(200):
        all_ways()
    now = references()
    assert now[:3] == before[:3]
    assert abs(now[3] - before[3]) < 100
