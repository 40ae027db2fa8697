"""Panes: what they hold, what snapshots take of them, and what becomes of that."""

from __future__ import annotations

from typing import Any

from headgate.state.keyed.cells import KEY, NAMESPACED, Cell
from headgate.state.keyed.panes import Namespace, Pane, PanePiece, Panes

MINUTE: Namespace = (0, 60)
NEXT: Namespace = (60, 120)
COLUMN, TIMERS = 4, 5


def made(namespace: Namespace) -> Pane:
    """Return a pane of a window that waits 10 ms for late records."""
    return Pane({namespace[1] - 1: None, namespace[1] + 9: None}, {namespace[1] + 9: None})


def panes_with(**values: Any) -> tuple[Panes, Pane]:
    panes = Panes((COLUMN,), TIMERS)
    panes.notes_drops = True
    pane = panes.by_window[MINUTE] = made(MINUTE)
    pane.open.update(values)
    return panes, pane


def entries(pieces: list[PanePiece]) -> dict[tuple[Any, Namespace], Any]:
    """Return what pieces say of each key and window: its value and timers, or that it is gone."""
    found: dict[tuple[Any, Namespace], Any] = {}
    for piece in pieces:
        columns = piece.columns
        said = ["gone"] * len(piece.keys) if columns is None else zip(columns[COLUMN], columns[TIMERS], strict=True)
        for (mark, key, namespace), each in zip(piece.keys, said, strict=True):
            assert mark is NAMESPACED
            assert (key, namespace) not in found
            found[key, namespace] = each
    return found


def snapshot(panes: Panes, generation: int, since: int = -1) -> dict[tuple[Any, Namespace], Any]:
    panes.seal(generation)
    return entries(list(panes.pieces(since)))


BEFORE, OVER = {59: None, 69: None}, {69: None}


def test_a_snapshot_has_the_newest_value_of_each_key_and_an_increment_what_has_changed() -> None:
    panes, pane = panes_with(a=1, b=2)
    assert snapshot(panes, 1) == {("a", MINUTE): (1, BEFORE), ("b", MINUTE): (2, BEFORE)}
    pane.open["a"] = 5
    assert snapshot(panes, 2, since=1) == {("a", MINUTE): (5, BEFORE)}
    assert snapshot(panes, 3) == {("a", MINUTE): (5, BEFORE), ("b", MINUTE): (2, BEFORE)}
    assert snapshot(panes, 4, since=2) == {}
    assert pane.values() == {"a": 5, "b": 2}


def test_a_snapshot_under_way_is_of_the_barrier_whatever_comes_after() -> None:
    panes, pane = panes_with(a=[1])
    panes.seal(1)
    pieces = panes.pieces(-1)
    pane.open["a"] = [*pane.sealed_value("a"), 2]
    pane.now_evaluated(2)
    panes.drop(MINUTE, 2)
    assert entries(list(pieces)) == {("a", MINUTE): ([1], BEFORE)}


def test_what_is_gone_is_told_to_the_next_increment_if_a_snapshot_had_it() -> None:
    panes, _ = panes_with(a=1)
    panes.seal(1)
    panes.by_window[MINUTE].open["b"] = 2  # no snapshot has had it
    panes.drop(MINUTE, 2)
    assert snapshot(panes, 2, since=1) == {("a", MINUTE): "gone"}
    assert snapshot(panes, 3, since=1) == {("a", MINUTE): "gone"}  # the increment before may have failed
    panes.base_moved(3)
    assert snapshot(panes, 4, since=3) == {}


def test_what_is_gone_is_not_kept_where_no_snapshot_tells_of_it() -> None:
    panes, _ = panes_with(a=1)
    panes.notes_drops = False
    panes.seal(1)
    panes.drop(MINUTE, 2)
    assert not panes._dropped


def test_a_whole_snapshot_tells_of_nothing_that_is_gone() -> None:
    panes, _ = panes_with(a=1)
    panes.seal(1)
    panes.drop(MINUTE, 2)
    assert snapshot(panes, 2) == {}


def test_that_a_window_was_evaluated_is_told_of_all_its_keys_again() -> None:
    panes, pane = panes_with(a=1, b=2)
    assert snapshot(panes, 1)["a", MINUTE] == (1, BEFORE)
    pane.open["b"] = 3
    pane.now_evaluated(2)
    assert snapshot(panes, 2, since=1) == {("a", MINUTE): (1, OVER), ("b", MINUTE): (3, OVER)}


def cell_of(key: str, namespace: Namespace, value: Any, timers: dict[int, None]) -> Cell:
    return [0, 0, 1, (NAMESPACED, key, namespace), value, timers]


def test_what_cells_hold_becomes_panes_that_know_which_keys_were_evaluated() -> None:
    panes = Panes((COLUMN,), TIMERS)
    cells = [
        cell_of("a", MINUTE, 1, dict(OVER)),
        cell_of("b", MINUTE, [2], dict(BEFORE)),
        cell_of("c", NEXT, 3, {119: None, 129: None}),
        [0, 0, 1, "a", None, None],
        cell_of("d", MINUTE, None, {}),
    ]
    adopted = panes.adopt(cells, made)
    assert [cell[KEY][1] for cell in adopted] == ["a", "b", "c"]
    assert all(cell[COLUMN] is None and cell[TIMERS] is None for cell in adopted)
    pane = panes.by_window[MINUTE]
    assert pane.evaluated == {"a"}
    assert snapshot(panes, 1) == {
        ("a", MINUTE): (1, OVER),
        ("b", MINUTE): ([2], BEFORE),
        ("c", NEXT): (3, {119: None, 129: None}),
    }
    assert snapshot(panes, 2, since=0) == {}
    assert pane.sealed_value("a") == 1
    assert pane.evaluated == set(), "a record has come for the key, so that its window is evaluated again"


def test_many_sealed_dictionaries_become_one_once_they_are_in_the_base() -> None:
    panes, pane = panes_with()
    for generation in range(1, 8):
        pane.open.update({"always": generation, f"at {generation}": generation})
        panes.seal(generation)
    panes.base_moved(6)
    assert [generation for generation, _ in pane.sealed] == [7, 6]
    assert pane.values()["always"] == 7
    assert snapshot(panes, 8, since=6) == {("always", MINUTE): (7, BEFORE), ("at 7", MINUTE): (7, BEFORE)}
    assert len(snapshot(panes, 9)) == 8
    assert panes.changed(6) == 2
    assert len(panes) == 9


def test_an_increment_of_many_keys_comes_in_pieces() -> None:
    panes, pane = panes_with(**{f"k{number}": number for number in range(3000)})
    panes.seal(1)
    pieces = list(panes.pieces(-1))
    assert [len(piece.keys) for piece in pieces] == [1024, 1024, 952]
    panes.drop(MINUTE, 2)
    assert sum(len(piece.keys) for piece in panes.pieces(1)) == 3000
    assert pane.values() == {f"k{number}": number for number in range(3000)}
