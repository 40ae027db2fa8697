"""The slots of the newest launch: which it is to have, which have registered, and which have answered. Pure."""

from __future__ import annotations

from typing import final

from headgate.ids import Launch, SlotIndex


@final
class LaunchedSlots:
    """Owned by the supervisor.

    >>> slots = LaunchedSlots()
    >>> slots.begin(2)
    >>> slots.register(SlotIndex(0)), slots.register(SlotIndex(1))
    (False, True)
    >>> slots.release(needed=1), slots.held
    (frozenset({1}), 1)
    """

    def __init__(self) -> None:
        self.launch = Launch(0)
        """0 before the first."""
        self.is_over = True
        """Whether the launch has ended: it holds no slot any more."""
        self._slots: frozenset[SlotIndex] = frozenset()
        self._registered: set[SlotIndex] = set()
        self._answered: set[SlotIndex] = set()

    def begin(self, slots: int) -> None:
        """Go on to the next launch, which is to have so many slots."""
        self.launch = Launch(self.launch + 1)
        self.is_over = False
        self._slots = _first(slots)
        self._registered.clear()

    @property
    def held(self) -> int:
        """How many slots the launch holds, or is to hold."""
        return 0 if self.is_over else len(self._slots)

    @property
    def are_registered(self) -> bool:
        """Whether all slots have registered."""
        return self._registered == self._slots

    @property
    def were_some(self) -> bool:
        """Whether any slot has registered."""
        return bool(self._registered)

    @property
    def missing(self) -> list[SlotIndex]:
        """The slots that have not registered."""
        return sorted(self._slots - self._registered)

    def __contains__(self, slot: SlotIndex) -> bool:
        return slot in self._slots

    def has(self, slot: SlotIndex) -> bool:
        """Return whether the slot has registered."""
        return slot in self._registered

    def register(self, slot: SlotIndex) -> bool:
        """Note that a slot has registered; return whether all have."""
        self._registered.add(slot)
        return self.are_registered

    def shrink(self, slots: int) -> bool:
        """Note that there are so many slots; return whether they are fewer than was thought."""
        is_smaller = slots < len(self._slots)
        if is_smaller:
            self._slots = _first(slots)
        return is_smaller

    def release(self, needed: int) -> frozenset[SlotIndex]:
        """Let go of all but the first slots; return those that went."""
        surplus = self._slots - _first(needed)
        self._slots -= surplus
        self._registered -= surplus
        return surplus

    def ask(self) -> None:
        """Await answers anew."""
        self._answered.clear()

    def answer(self, slot: SlotIndex, asked: int) -> bool:
        """Note that a slot has answered; return whether all of the first ones have, which were asked."""
        self._answered.add(slot)
        return self._answered == _first(asked)


def _first(slots: int) -> frozenset[SlotIndex]:
    return frozenset(SlotIndex(index) for index in range(slots))
