"""Which subtasks of a source read which of the splits that are found, and when they have read them all. Pure."""

from __future__ import annotations

from typing import Any, final


@final
class Reading:
    """What the subtasks of one source were given in an attempt, and whether they have read it all."""

    def __init__(self, parallelism: int, *, unfinished: bool, after: int = 0) -> None:
        """`unfinished`: the attempt starts with an end to reach, and with splits whose ordinals are below `after`."""
        self._next = after
        self._given = [0] * parallelism
        self._read: list[int | None] = [None] * parallelism
        self._any = unfinished

    @property
    def parallelism(self) -> int:
        """The number of subtasks."""
        return len(self._given)

    def deal(self, splits: list[Any], known: int) -> dict[int, list[tuple[int, Any]]]:
        """Return which subtask is given which of these, with their ordinals: in turn, behind those before.

        `known`: there were at least so many.
        """
        self._next = max(self._next, known)
        dealt: dict[int, list[tuple[int, Any]]] = {}
        for split in splits:
            dealt.setdefault(self._next % len(self._given), []).append((self._next, split))
            self._next += 1
        for index, some in dealt.items():
            self._given[index] += len(some)
            self._any = True
        return dealt

    def ended(self, index: int, given: int) -> bool:
        """A subtask has read all of the splits `given` to it; return whether this is the end of all there were."""
        self._read[index] = given
        if self._read != self._given or not self._any:
            return False
        self._any = False
        return True
