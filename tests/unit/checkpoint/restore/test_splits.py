"""Which splits the subtasks of a source go on with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.checkpoint.restore.splits import KNOWN_STATE, ORDINALS_STATE, SPLITS_STATE, assign_splits, ordinals_of
from headgate.state.operator.list_elements import ListElements

Lists = dict[str, ListElements]


def hand(*ordinals: int, begun: int = 1) -> Lists:
    """A subtask that has begun the first of these splits, or some more; a split is its ordinal."""
    pairs = [(ordinal, place < begun) for place, ordinal in enumerate(ordinals)]
    return {SPLITS_STATE: ListElements.of(ordinals), ORDINALS_STATE: ListElements.of(pairs)}


def old_hand(*splits: int, read: int) -> Lists:
    """A subtask as an earlier release has stored it, which has read some of its splits."""
    return {SPLITS_STATE: ListElements.of(splits), KNOWN_STATE: ListElements.of(range(read + len(splits)))}


def splits(lists: list[Lists]) -> list[list[int]]:
    return [own[SPLITS_STATE].values("", {}) for own in lists]


def test_at_the_same_parallelism_every_subtask_goes_on_with_its_own() -> None:
    old = [hand(4, 6, 8), hand(1, 3, 5)]
    new = assign_splits(old, 2)
    assert new == old


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [(1, [[6, 7, 8, 9, 10, 11]]), (3, [[6, 9], [7, 10], [8, 11]]), (4, [[6, 10], [7, 11], [8], [9]])],
)
def test_splits_are_dealt_out_in_turn_by_ordinal(parallelism: int, expected: list[list[int]]) -> None:
    assert splits(assign_splits([hand(6, 8, 10), hand(7, 9, 11)], parallelism)) == expected


def test_splits_that_were_begun_are_spread_before_the_others() -> None:
    old = [hand(0, 3, 6), hand(7, 10), hand(8, 11)]
    new = assign_splits(old, 2)
    assert [[begun for _, begun in ordinals_of(own)].count(True) for own in new] == [2, 1]
    assert splits(assign_splits([hand(0, 2, 4, 6), hand(7, 9)], 3)) == [[0, 4], [6, 7], [2, 9]]


def test_a_subtask_reads_by_ordinal_what_it_is_given() -> None:
    assert splits(assign_splits([hand(4, 6, 8), hand(7, 9)], 1)) == [[4, 6, 7, 8, 9]]


@given(st.integers(0, 30).flatmap(lambda count: st.permutations(range(count))), st.integers(1, 5), st.integers(1, 5))
def test_nothing_is_lost_and_shares_are_even(ordinals: list[int], before: int, after: int) -> None:
    old = [hand(*sorted(ordinals[index::before])) for index in range(before)]
    new = assign_splits(old, after)
    assert sorted(split for own in splits(new) for split in own) == sorted(ordinals)
    assert [[ordinal for ordinal, _ in ordinals_of(own)] for own in new] == splits(new)
    shares = [len(own) for own in splits(new)]
    assert before == after or max(shares) - min(shares) <= 1


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [(1, [[4, 6, 7, 8, 9, 10, 11]]), (2, [[4, 6, 8, 10], [7, 9, 11]]), (3, [[4, 8, 11], [7, 9], [6, 10]])],
)
def test_splits_of_an_earlier_release_are_dealt_out_by_the_order_of_their_first_start(
    parallelism: int, expected: list[list[int]]
) -> None:
    """Subtask 0 was given 0, 2, 4, ... and has read two of them, subtask 1 of 1, 3, 5, ... three."""
    new = assign_splits([old_hand(4, 6, 8, 10, read=2), old_hand(7, 9, 11, read=3)], parallelism)
    assert splits(new) == expected
    assert [[ordinal for ordinal, _ in ordinals_of(own)] for own in new] == expected


def test_splits_without_names_go_by_their_positions() -> None:
    old = [{SPLITS_STATE: ListElements.of([0, 3, 4])}, {}, {SPLITS_STATE: ListElements.of([2, 5])}]
    assert splits(assign_splits(old, 1)) == [[0, 2, 3, 5, 4]]
