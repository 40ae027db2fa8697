"""Assignment of a source's splits to its subtasks, at any parallelism. Pure.

Each split has an ordinal: its position among all splits of the source. At another parallelism the splits are dealt out
in turn by ordinal. Splits that were begun are dealt before unread splits, because several begun splits in one subtask
hold event time back. Each subtask reads its splits by ordinal. So all subtasks move through the input side by side, as
in a job that starts from the beginning. With neighbouring splits one subtask would read far ahead of another.

A snapshot of an earlier release, or of a source that does not name its splits, has no ordinals. Then positions replace
them: the splits of a subtask were dealt in turn, and are read in this order.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from headgate.state.operator.list_elements import ListElements

SPLITS_STATE: Final = "splits"
"""List state with each split that is not read to its end, as its remaining part."""

ORDINALS_STATE: Final = "ordinals"
"""List state with a pair for each element of `SPLITS_STATE`: its ordinal, and whether any of it was read."""

KNOWN_STATE: Final = "known"
"""List state with the ids of all splits that the subtasks were ever given, if the source names its splits."""


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
    """Return the pairs of `ORDINALS_STATE`; an empty list for a snapshot without ordinals."""
    # Numbers of our own, from the job's own storage.
    return [pickle.loads(each) for each in lists[ORDINALS_STATE].elements] if ORDINALS_STATE in lists else []  # noqa: S301


def _unread(own: Mapping[str, ListElements], index: int, parallelism: int) -> list[_Unread]:
    splits = own[SPLITS_STATE].elements if SPLITS_STATE in own else []
    ordinals = ordinals_of(own) or _by_position(own, index, parallelism)
    return [_Unread(ordinal, begun, split) for (ordinal, begun), split in zip(ordinals, splits, strict=True)]


def _by_position(own: Mapping[str, ListElements], index: int, parallelism: int) -> list[tuple[int, bool]]:
    """Return ordinals by position: subtask 1 of 3 was given 1, 4, 7, ..., and has read the splits that are missing."""
    unread, known = (len(own[name].elements) if name in own else 0 for name in (SPLITS_STATE, KNOWN_STATE))
    read = max(known - unread, 0)
    return [((read + place) * parallelism + index, place == 0) for place in range(unread)]
