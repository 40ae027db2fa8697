"""Two stacks: the values of a window that slides over slices, at a few combinations for each key and slide.

The queue of two stacks is folklore; as an aggregate of sliding windows it is described by Tangwongsan, Hirzel and
Schneider ("Low-latency sliding-window aggregation in worst-case constant time", 2017, where it is what DABA is measured
against). The *front* has the older slices, combined from each of them on, so that the oldest can leave; the *back* has
one value of the newer ones. When the front is used up, all that is there becomes the front.

Here a stack is of all keys at once. The front is one dictionary, and for each of its slices another that tells what the
front was without it, of the keys of that slice only: leaving is one `dict.update`, and both stacks together have no
more entries than the slices. Records that come when their slice has been taken are combined with the back, where they
belong there; for slices of the front they are kept beside it, for each key and slice, until the front is used up. That
is what FiBA does with a tree (Tangwongsan et al., "Optimal and general out-of-order sliding-window aggregation", 2019):
its cost grows with the logarithm of the distance, that of ours with the number of slices that are late at the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, final

SlicesBetween = Callable[[int, int], Iterator[tuple[int, dict[Any, Any]]]]
"""Returns the slices that start from a time on and before another, in order: their starts, and their values by key."""


@final
class TwoStacks:
    """The values of one window after the other; none of `combine`'s arguments is ever changed.

    `own` copies a value that can be changed, so that the caller may change the copy.
    """

    def __init__(self, slices: SlicesBetween, combine: Callable[[Any, Any], Any], own: Callable[[Any], Any]) -> None:
        self._slices = slices
        self._combine = combine
        self._own = own
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._start = self._turn = self.end = 0
        self._front: dict[Any, Any] = {}
        """None for a key that has left."""
        self._before: list[tuple[int, dict[Any, Any]]] = []
        """Of each slice of the front, the oldest last: what the front is without it, for its keys."""
        self._back: dict[Any, Any] = {}
        self._late: dict[Any, dict[int, Any]] = {}

    def move(self, start: int, end: int) -> None:
        """Make these the start and the end of the window."""
        if start > self._turn or start < self._start or end < self.end:
            self._turn_over(start, end)
            return
        before, front = self._before, self._front
        while before and before[-1][0] < start:
            front.update(before.pop()[1])
        if self._late:
            kept = {key: {at: some[at] for at in some if at >= start} for key, some in self._late.items()}
            self._late = {key: some for key, some in kept.items() if some}
        self._push(end)
        self._start = start

    def _push(self, end: int) -> None:
        """Add the slices until this end to the back."""
        back, combine, own = self._back, self._combine, self._own
        for _, values in self._slices(self.end, end):
            for key, value in values.items():
                so_far = back.get(key)
                back[key] = own(value) if so_far is None else combine(so_far, value)
        self.end = end

    def _turn_over(self, start: int, end: int) -> None:
        """Make a front of all slices of the window."""
        self.clear()
        front, combine, own = self._front, self._combine, self._own
        for at, values in reversed(list(self._slices(start, end))):
            before = {key: front.get(key) for key in values}
            for key, value in values.items():
                newer = before[key]
                front[key] = own(value) if newer is None else combine(value, newer)
            self._before.append((at, before))
        self._start, self._turn, self.end = start, end, end

    def add(self, at: int, key: Any, value: Any) -> None:
        """Add a value that came to the slice which starts then, if that has been taken already."""
        if at >= self.end:
            return
        place, name = (self._back, key) if at >= self._turn else (self._late.setdefault(key, {}), at)
        so_far = place.get(name)
        place[name] = self._own(value) if so_far is None else self._combine(so_far, value)

    def values(self) -> Iterator[tuple[Any, Any]]:
        """Return each key of the window with its value, which is the caller's."""
        return self._with_late() if self._late else self._in_stacks()

    def _in_stacks(self) -> Iterator[tuple[Any, Any]]:
        front, back, combine, own = self._front, self._back, self._combine, self._own
        for key, newer in back.items():
            older = front.get(key)
            yield key, own(newer) if older is None else combine(older, newer)
        for key, older in front.items():
            if older is not None and key not in back:
                yield key, own(older)

    def _with_late(self) -> Iterator[tuple[Any, Any]]:
        late, combine = self._late, self._combine
        left = {key: iter(some.values()) for key, some in late.items()}
        for key, value in self._in_stacks():
            for more in left.pop(key, ()):
                value = combine(value, more)
            yield key, value
        for key, some in left.items():
            value = self._own(next(some))
            for more in some:
                value = combine(value, more)
            yield key, value
