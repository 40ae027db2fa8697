"""Drafts of lists and maps: what is read are copies, what is written stays there until it is applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.operators.invocation_state import DraftList, DraftMap


def test_elements_of_a_list_are_copies_on_the_way_in_and_out() -> None:
    stored, added, more = [[1]], [2], [3]
    draft = DraftList(lambda: stored, [])
    draft.append(added)
    draft.extend([more])
    for element in [*draft, added, more]:
        element.append("changed")
    assert list(draft) == [[1], [2], [3]]
    assert stored == [[1]]
    draft.apply(stored)
    assert stored == [[1], [2], [3]]


def test_values_of_a_map_are_copies_on_the_way_in_and_out() -> None:
    stored: dict[str, Any] = {"old": [1]}
    draft = DraftMap(lambda: stored)
    new = [2]
    draft["new"] = new
    for value in [draft.get("old"), draft.get("new"), *draft.values(), new]:
        value.append("changed")
    assert dict(draft.items()) == {"old": [1], "new": [2]}
    assert stored == {"old": [1]}
    draft.apply(stored)
    assert stored == {"old": [1], "new": [2]}


def test_what_a_draft_has_removed_from_a_map_is_seen_nowhere_until_it_is_written_again() -> None:
    stored = {"a": 1, "b": 2}
    draft = DraftMap(lambda: stored)
    del draft["a"]
    assert (draft.get("a"), "a" in draft, list(draft.keys()), len(draft)) == (None, False, ["b"], 1)
    draft["a"] = 3
    assert (draft.get("a"), "a" in draft, sorted(draft.keys())) == (3, True, ["a", "b"])
    del draft["a"]
    assert (bool(draft), list(draft)) == (True, ["b"])
    assert stored == {"a": 1, "b": 2}
    draft.apply(stored)
    assert stored == {"b": 2}


def test_a_map_is_empty_when_all_is_removed_and_looks_at_no_more_entries_than_it_must() -> None:
    class Large(dict[str, int]):
        """A map that tells of its entries one at a time only."""

        def __iter__(self) -> Iterator[str]:
            yield "a"
            yield "b"
            raise AssertionError("the rest is not asked for")

    draft = DraftMap(lambda: Large(a=1, b=2, c=3))
    del draft["a"]
    assert draft
    small = DraftMap(lambda: {"a": 1})
    del small["a"]
    assert not small
    small["b"] = 2
    assert small
    assert not DraftMap(None)
