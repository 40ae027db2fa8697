"""Which splits the subtasks of a source go on with, at any parallelism. Pure.

Each split has an ordinal: its place among all splits that the source was ever cut into. At another parallelism the
splits are dealt out in turn by ordinal, those that were begun before the others, as several of these in one hand hold
event time back. Every hand is read by ordinal. So all subtasks move through the input side by side, as they do in a job
that starts afresh; neighbouring pieces would have one subtask read what lies ahead of what another one still has.

A snapshot without ordinals, of an earlier release or of a source that does not name its splits, says where splits are
by their positions: those of a subtask were dealt in turn, and are read in that order.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from headgate.state.operator.list_elements import ListElements

SPLITS_STATE: Final = "splits"
"""What is still to be read, of each split that is not read to its end."""

ORDINALS_STATE: Final = "ordinals"
"""A pair for each element of the splits, in their order: the ordinal, and whether anything of the split was read."""

KNOWN_STATE: Final = "known"
"""The ids of all splits that subtasks of a source which names its splits were ever given."""


class _Unread(NamedTuple):
    ordinal: int
    begun: bool
    split: bytes


def assign_splits(old: Sequence[Mapping[str, ListElements]], parallelism: int) -> list[dict[str, ListElements]]:
    """Return the splits and ordinals of each of `parallelism` subtasks, from the list states of the old ones.

    >>> old = [{"splits": ListElements.of(["a", "c"])}, {"splits": ListElements.of(["b", "d"])}]
    >>> [new["splits"].values("", {}) for new in assign_splits(old, 1)]
    [['a', 'b', 'c', 'd']]
    """
    hands = [_unread(own, index, len(old)) for index, own in enumerate(old)]
    if parallelism != len(old):
        every = sorted((each for hand in hands for each in hand), key=lambda each: (not each.begun, each.ordinal))
        hands = [sorted(every[index::parallelism], key=lambda each: each.ordinal) for index in range(parallelism)]
    return [
        {
            SPLITS_STATE: ListElements(elements=[each.split for each in hand]),
            ORDINALS_STATE: ListElements.of((each.ordinal, each.begun) for each in hand),
        }
        for hand in hands
    ]


def ordinals_of(lists: Mapping[str, ListElements]) -> list[tuple[int, bool]]:
    """Return the pairs of `ORDINALS_STATE`, none from a snapshot without."""
    # Numbers of our own, from the job's own storage.
    return [pickle.loads(each) for each in lists[ORDINALS_STATE].elements] if ORDINALS_STATE in lists else []  # noqa: S301


def _unread(own: Mapping[str, ListElements], index: int, parallelism: int) -> list[_Unread]:
    splits = own[SPLITS_STATE].elements if SPLITS_STATE in own else []
    ordinals = ordinals_of(own) or _by_position(own, index, parallelism)
    return [_Unread(ordinal, begun, split) for (ordinal, begun), split in zip(ordinals, splits, strict=True)]


def _by_position(own: Mapping[str, ListElements], index: int, parallelism: int) -> list[tuple[int, bool]]:
    """Return ordinals by position: subtask 1 of 3 was given 1, 4, 7, ..., and has read as many of them as are gone."""
    unread, known = (len(own[name].elements) if name in own else 0 for name in (SPLITS_STATE, KNOWN_STATE))
    read = max(known - unread, 0)
    return [((read + place) * parallelism + index, place == 0) for place in range(unread)]
