"""Bins of entries that wait to be pickled."""

from __future__ import annotations

from typing import Any

from headgate.state.bins import FRAME_ENTRIES, Bins
from headgate.state.schema import StateMeta
from headgate.state.snapshot import SnapshotWriter, decode
from headgate.types.typeinfo import Types


def written(entries: list[list[Any]], change: bool = False) -> dict[Any, Any]:
    """Return keys with values of a file that got these entries; `change`: which were changed right after."""
    writer = SnapshotWriter([StateMeta("s", "value", Types.PICKLED_BYTE_ARRAY())], delta=False)
    bins = Bins(writer, by_group=True)
    bins.add(entries)
    if change:
        for entry in entries:
            entry[2].append("later")
    while not bins.empty(1):
        pass
    saved = decode(b"".join(writer.finish()), "the file", {})
    return {key: value for _, key, value in saved.entries(range(128))}


def test_nothing_is_lost_on_the_way_whether_bins_were_filled_or_not() -> None:
    entries = [[number % 3, number, number * 2] for number in range(3 * FRAME_ENTRIES + 50)]
    assert written(entries) == {number: number * 2 for number in range(3 * FRAME_ENTRIES + 50)}


def test_values_that_may_change_are_kept_as_they_were() -> None:
    assert written([[1, "a", ["now"]], [2, "b", ["now"]]], change=True) == {"a": ["now"], "b": ["now"]}


def test_list_inside_a_tuple_may_change() -> None:
    inner = ["now"]
    writer = SnapshotWriter([StateMeta("s", "value", Types.PICKLED_BYTE_ARRAY())], delta=False)
    bins = Bins(writer, by_group=True)
    bins.add([[1, "a", (1, inner)]])
    inner.append("later")
    assert bins.empty(1000)
    saved = decode(b"".join(writer.finish()), "the file", {})
    assert [entry[2] for entry in saved.entries(range(128))] == [(1, ["now"])]


def test_emptying_is_bounded() -> None:
    writer = SnapshotWriter([StateMeta("s", "value", Types.LONG())], delta=False)
    bins = Bins(writer, by_group=True)
    bins.add([[number % 128, number, number] for number in range(1280)])
    assert not bins.empty(500)
    assert bins.empty(128 * FRAME_ENTRIES)
