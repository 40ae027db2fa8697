"""Peers that have not proved the secret yet: a limited number of places, and the choice of the peer to evict. Pure.

No peer is refused because of its address: the slots of a machine share theirs with all other processes there. When all
places are taken, the oldest peer of the address with the most places is evicted: it has had the most time for its
proof. If all peers have one address, each keeps its place for as many arrivals as there are places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar, final

G = TypeVar("G", bound=Hashable)


@final
class UnprovenPeers(Generic[G]):
    """The unproven peers, in the order of their arrival.

    >>> unproven = UnprovenPeers[str](places=3)
    >>> [unproven.add(peer, address) for peer, address in (("a", "one"), ("b", "two"), ("c", "two"), ("d", "three"))]
    [None, None, None, 'b']
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._peers: dict[G, str] = {}

    def add(self, peer: G, address: str) -> G | None:
        """Give a peer a place; return the peer that is evicted for it, None for none."""
        out = self._next_out() if len(self._peers) >= self._places else None
        if out is not None:
            del self._peers[out]
        self._peers[peer] = address
        return out

    def remove(self, peer: G) -> None:
        """Remove a peer, if it has a place."""
        self._peers.pop(peer, None)

    def __iter__(self) -> Iterator[G]:
        return iter(tuple(self._peers))

    def __len__(self) -> int:
        return len(self._peers)

    def _next_out(self) -> G:
        crowds = Counter(self._peers.values())
        busiest = max(crowds.values())
        return next(peer for peer, address in self._peers.items() if crowds[address] == busiest)


@final
class SummedLines:
    """Log lines that strangers cause: the first line is written at once, later ones are summed up in one line.

    The caller has the clock.


    >>> lines = SummedLines()
    >>> lines.noted("refused a"), lines.noted("refused b"), lines.noted("refused c")
    ('refused a', None, None)
    >>> lines.passed(), lines.passed(), lines.noted("refused d")
    ('refused c (and 1 more before it)', None, 'refused d')
    """

    def __init__(self) -> None:
        self.holding = False
        self._held = 0
        self._last = ""

    def noted(self, line: str) -> str | None:
        """Return the line to write now, None if it is held. After a returned line, call `passed` after a while."""
        if not self.holding:
            self.holding = True
            return line
        self._held += 1
        self._last = line
        return None

    def passed(self) -> str | None:
        """Return the held lines as one line; None if there were none: then the next line is written at once."""
        held, self._held = self._held, 0
        self.holding = held > 0
        if not held:
            return None
        return self._last if held == 1 else f"{self._last} (and {held - 1:,} more before it)"
