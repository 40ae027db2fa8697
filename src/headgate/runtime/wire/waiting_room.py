"""Who waits at a door to prove itself: places of a bounded number, and who gives way when all are taken. Pure.

Nobody is refused because of its address, as slots of a machine share theirs with everything else there. When the room
is full, the one gives way that came first among those of the busiest address: it has had the most time, and who takes
many places loses its own first. So each guest keeps its place for as many arrivals as there are places, at least if its
address is the only one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar, final

G = TypeVar("G", bound=Hashable)


@final
class WaitingRoom(Generic[G]):
    """The guests that wait, in the order in which they came.

    >>> room = WaitingRoom[str](places=3)
    >>> [room.enter(guest, address) for guest, address in (("a", "one"), ("b", "two"), ("c", "two"), ("d", "three"))]
    [None, None, None, 'b']
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._guests: dict[G, str] = {}

    def enter(self, guest: G, address: str) -> G | None:
        """Let a guest in; return the one that gives way to it, which is in the room no more."""
        out = self._next_out() if len(self._guests) >= self._places else None
        if out is not None:
            del self._guests[out]
        self._guests[guest] = address
        return out

    def leave(self, guest: G) -> None:
        """Forget a guest, if it is there."""
        self._guests.pop(guest, None)

    def __iter__(self) -> Iterator[G]:
        return iter(tuple(self._guests))

    def __len__(self) -> int:
        return len(self._guests)

    def _next_out(self) -> G:
        crowds = Counter(self._guests.values())
        busiest = max(crowds.values())
        return next(guest for guest, address in self._guests.items() if crowds[address] == busiest)


@final
class SummedLines:
    """Lines of a log that strangers cause: the first at once, those of the time after it as one line.

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
        """Return the line to write now, None if it is held; then `passed` is to be called after a while."""
        if not self.holding:
            self.holding = True
            return line
        self._held += 1
        self._last = line
        return None

    def passed(self) -> str | None:
        """Return what was held, as one line; None if nothing was. Then the next line is written at once again."""
        held, self._held = self._held, 0
        self.holding = held > 0
        if not held:
            return None
        return self._last if held == 1 else f"{self._last} (and {held - 1:,} more before it)"
