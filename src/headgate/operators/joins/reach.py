"""Which records that a join has kept are in the reach of another: elements are tuples that begin with a time.

Lists in memory are in order of time, so that a record looks at those that it matches only. On RocksDB they are in
order of arrival: to keep them in order of time, each late element would rewrite the rows of its list.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Final

from headgate.state.backend import KeyedBackend
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.kinds.owner import ListLike

_TIME: Final = itemgetter(0)


def within(kept: Iterable[Any], first_ms: int, last_ms: int) -> list[Any]:
    """Return the elements from the one time to the other.

    >>> within([(1, "a"), (5, "b"), (9, "c")], 2, 9)
    [(5, 'b'), (9, 'c')]
    """
    if type(kept) is list:
        return kept[bisect_left(kept, (first_ms,)) : bisect_left(kept, (last_ms + 1,))]
    return [each for each in kept if first_ms <= each[0] <= last_ms]


def keep(kept: ListLike, element: tuple[Any, ...]) -> None:
    """Add an element.

    >>> kept = [(1, "a"), (9, "b")]
    >>> keep(kept, (5, "c"))
    >>> kept
    [(1, 'a'), (5, 'c'), (9, 'b')]
    """
    if type(kept) is list and element[0] < kept[-1][0]:
        insort(kept, element, key=_TIME)
    else:
        kept.append(element)


def put_in_order(backend: KeyedBackend, state_name: str, column: int) -> None:
    """Sort the lists of a state that was restored: RocksDB may have written them."""
    if isinstance(backend, HashMapBackend):
        for key in backend.keys(state_name):
            backend.cells[key][column].sort(key=_TIME)
