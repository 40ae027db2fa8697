"""What counts of a query's results, so that those of a stream can be compared with those of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

Rows = Counter[tuple[Any, ...]]

KEYS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "q4": itemgetter(0),
    "q15": itemgetter(0),
    "q16": itemgetter(0, 1),
    "q17": itemgetter(0, 1),
    "q18": itemgetter(0, 1),
    "q19": itemgetter(0, 7),
}
"""Queries that emit each change of a result, with what says which result it is: the last change counts."""


def settled(name: str, rows: Iterable[tuple[Any, ...]]) -> Rows:
    """Return the results that count of what a query has emitted, in the order of that, and how often each is there."""
    if name in KEYS:
        return Counter({KEYS[name](row): row for row in rows}.values())
    if name == "q12":  # which windows there are depends on the clock, their sums do not
        counts = {(bidder, start): count for bidder, count, start, _ in rows}
        bids: Counter[int] = Counter()
        for (bidder, _), count in counts.items():
            bids[bidder] += count
        return Counter(bids.items())
    return Counter(rows)


def difference(found: Rows, expected: Rows) -> str | None:
    """Return what differs, with examples; None if nothing does."""
    if found == expected:
        return None
    surplus, missing = list((found - expected).elements()), list((expected - found).elements())
    return f"{len(surplus)} too many, such as {surplus[:1]}, and {len(missing)} missing, such as {missing[:1]}"
