"""Records are added to panes compiled as they are in Python, whatever the functions of a program do."""

from __future__ import annotations

import gc
import operator
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.operators.windows.pane_loop import AddToPanes, PaneSteps, Stretch, add_to_panes, pane_loop
from headgate.state.keyed.panes import Pane
from tests.compiled import compiled_module

SIZE = 10


class Windows:
    """Tumbling windows, and what was asked of them. A function fails with the record `FAILS`."""

    FAILS = "fails"

    def __init__(self, sealed: dict[Any, Any], over: int, late: int) -> None:
        self.panes: dict[int, Pane] = {}
        self.asked: list[Any] = []
        self._sealed, self._over, self._late = sealed, over, late
        self.steps = PaneSteps(self.first, self.more, self.turn, self.sought, self.too_late, self.again)

    def first(self, value: Any) -> Any:
        self.asked.append(("first", value))
        if value == self.FAILS:
            raise ValueError(value)
        return [value] if value is not None else None

    def more(self, value: Any, so_far: Any) -> Any:
        self.asked.append(("more", value, list(so_far)))
        if value == self.FAILS:
            raise ValueError(value)
        return None if value is None else [*so_far, value]

    def turn(self, time: int) -> Stretch:
        start = time - time % SIZE
        if start // SIZE < self._over:
            return start, start + SIZE, None, False
        pane = self.panes.get(start)
        if pane is None:
            self.panes[start] = pane = Pane(None, None)
            pane.sealed = [(0, self._sealed)] if self._sealed else []
        return start, start + SIZE, pane, start // SIZE < self._late

    def sought(self, pane: Pane, key: Any) -> Any:
        self.asked.append(("sought", key))
        if key == self.FAILS:
            raise ValueError(key)
        return None if key in pane.open else pane.sealed_value(key)

    def too_late(self, value: Any, time: int) -> None:
        self.asked.append(("too late", value, time))
        if value == self.FAILS:
            raise ValueError(value)

    def again(self, start: int, end: int, key: Any, value: Any) -> None:
        self.asked.append(("again", start, end, key, value))
        if key == "fails again":
            raise ValueError(key)

    def added(self, loop: AddToPanes, keys: list[Any], times: Iterable[int], records: list[Any]) -> Any:
        """Return all that can be seen of an addition."""
        position = iter(records)
        error = None
        try:
            loop(keys, times, position, self.steps)
        except (ValueError, TypeError) as raised:
            error = type(raised), str(raised)
        open_values = {start: pane.open for start, pane in self.panes.items()}
        return error, operator.length_hint(position), self.asked, open_values


KEYS = st.sampled_from(["a", "b", 1, (1, "c"), Windows.FAILS, "fails again", ["not to be hashed"]])
VALUES = st.sampled_from([0, 1, "x", None, Windows.FAILS])
TIMES = st.one_of(st.integers(-30, 60), st.sampled_from([2**63, -(2**63) - 1, 2**63 - 1, -(2**63), True]))


@given(
    st.lists(st.tuples(KEYS, TIMES, VALUES), max_size=20),
    st.dictionaries(st.sampled_from(["a", "b", 1]), st.sampled_from([[7], None])),
    st.integers(-3, 3),
    st.integers(-3, 6),
)
def test_the_same_is_added_as_in_python(
    records: list[tuple[Any, int, Any]], sealed: dict[Any, Any], over: int, late: int
) -> None:
    keys, times, values = ([each[at] for each in records] for at in range(3))
    loops = (add_to_panes, compiled_module().add_to_panes)
    wanted, found = (Windows(sealed, over, late).added(loop, keys, times, values) for loop in loops)
    assert found == wanted


@pytest.mark.parametrize("lengths", [(2, 3, 3), (3, 2, 3), (3, 3, 2), (0, 3, 3)])
def test_the_shortest_input_ends_an_addition(lengths: tuple[int, int, int]) -> None:
    inputs = [list(range(length)) for length in lengths]
    loops = (add_to_panes, compiled_module().add_to_panes)
    wanted, found = (Windows({}, 0, 0).added(loop, *inputs) for loop in loops)
    assert found == wanted


def test_an_error_of_an_input_comes_out() -> None:
    def times() -> Iterator[int]:
        yield 1
        raise ValueError("no time")

    windows = Windows({}, 0, 0)
    error, left, _, values = windows.added(compiled_module().add_to_panes, ["a", "b"], times(), [1, 2])
    assert (error, left, values) == ((ValueError, "no time"), 1, {0: {"a": [1]}})


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="nothing"),
        pytest.param((0, 10, None), id="too little"),
        pytest.param((0, 10, "no pane", False), id="no pane"),
        pytest.param(("a", "b", None, False), id="no times"),
    ],
)
def test_a_wrong_stretch_is_an_error(answer: Any) -> None:
    windows = Windows({}, 0, 0)
    steps = PaneSteps(windows.first, windows.more, lambda _: answer, windows.sought, windows.too_late, windows.again)
    with pytest.raises((TypeError, AttributeError)):
        compiled_module().add_to_panes(["a"], [1], iter([1]), steps)
    with pytest.raises(AttributeError):
        compiled_module().add_to_panes(["a"], [1], iter([1]), None)


def test_an_addition_leaves_no_reference_behind() -> None:
    loop = compiled_module().add_to_panes
    key, value, sealed = ("key", 1), ["value"], [[7]]

    def all_ways() -> None:
        for over, late, last in ((0, 0, 1), (9, 0, 1), (0, 9, 1), (0, 9, Windows.FAILS), (9, 0, Windows.FAILS)):
            windows = Windows({key: sealed[0]}, over, late)
            windows.added(loop, [key, key, key], [1, 12, 3], [value, value, last])

    def references() -> list[int]:
        gc.collect()
        return [sys.getrefcount(each) for each in (key, value, sealed[0], None)]

    all_ways()
    before = references()
    for _ in range(200):
        all_ways()
    assert all(abs(now - then) < 100 for now, then in zip(references(), before, strict=True))


def test_the_loop_is_compiled_where_the_job_is() -> None:
    assert pane_loop(None) is add_to_panes
    assert pane_loop(compiled_module()) is compiled_module().add_to_panes
