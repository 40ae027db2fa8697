"""Allocation: the slots of the newest launch, and the placement of each attempt on them. Pure.

A rescale is *wanted* until there is a checkpoint to continue from. Then it is *tried*, until an attempt runs in the new
placement or fails. After a failure the job returns to the placement of the attempt that ran before. A job may want more
slots than there are: then its placements are fitted into the existing slots, until it is rescaled again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from headgate.graph.placement import Placement, fitted
from headgate.ids import Attempt, Launch, SlotIndex
from headgate.runtime.master.supervisor_vocabulary import RescaleOver, RescaleRequested


@final
class SlotPool:
    """The slots of the newest launch: which have registered, and which have answered. Owned by the supervisor.

    >>> slots = SlotPool()
    >>> slots.begin(2)
    >>> slots.register(SlotIndex(0)), slots.register(SlotIndex(1))
    (False, True)
    >>> slots.release(needed=1), slots.held
    (frozenset({1}), 1)
    """

    def __init__(self) -> None:
        self.launch = Launch(0)
        """The newest launch; 0 before the first."""
        self.is_over = True
        """Whether the launch has ended and holds no slot."""
        self._slots: frozenset[SlotIndex] = frozenset()
        self._registered: set[SlotIndex] = set()
        self._answered: set[SlotIndex] = set()

    def begin(self, slots: int) -> None:
        """Begin the next launch, which was ordered with `slots` slots."""
        self.launch = Launch(self.launch + 1)
        self.is_over = False
        self._slots = _first(slots)
        self._registered.clear()

    @property
    def held(self) -> int:
        """The number of slots that the launch holds or was ordered to hold."""
        return 0 if self.is_over else len(self._slots)

    @property
    def are_registered(self) -> bool:
        """Whether all slots have registered."""
        return self._registered == self._slots

    @property
    def were_some(self) -> bool:
        """Whether at least one slot has registered."""
        return bool(self._registered)

    @property
    def missing(self) -> list[SlotIndex]:
        """The slots that have not registered."""
        return sorted(self._slots - self._registered)

    def describe_missing(self, timeout_ms: float) -> str:
        """Return why the job cannot start: slots did not register within the timeout."""
        slots, missing = self.held, self.missing
        return (
            f"only {slots - len(missing)} of {slots} slots registered within {timeout_ms:g} ms "
            f"(missing: {', '.join(map(str, missing))}). Check that the cluster has {slots} free task slots and that "
            "its workers can reach the driver, or lower the parallelism"
        )

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
        """Note that the launch has `slots` slots; return whether these are fewer than were ordered."""
        is_smaller = slots < len(self._slots)
        if is_smaller:
            self._slots = _first(slots)
        return is_smaller

    def release(self, needed: int) -> frozenset[SlotIndex]:
        """Release all slots but the first `needed`; return the released slots."""
        surplus = self._slots - _first(needed)
        self._slots -= surplus
        self._registered -= surplus
        return surplus

    def ask(self) -> None:
        """Forget the answers of slots, before the next order to all of them."""
        self._answered.clear()

    def answer(self, slot: SlotIndex, asked: int) -> bool:
        """Note that a slot has answered; return whether the first `asked` slots have all answered."""
        self._answered.add(slot)
        return self._answered == _first(asked)


def _first(slots: int) -> frozenset[SlotIndex]:
    return frozenset(SlotIndex(index) for index in range(slots))


@final
class AttemptPlacements:
    """Decides on the placement of each attempt. Owned by the supervisor.

    >>> three = RescaleRequested(number=1, placement=Placement(parallelism=(3,)), now_ms=0.0)
    >>> rescaling = AttemptPlacements(lambda attempt: Placement(parallelism=(2,)))
    >>> rescaling.next(Attempt(1)).slots
    2
    >>> rescaling.settle()
    >>> rescaling.want(three)
    >>> rescaling.begin()
    >>> rescaling.next(Attempt(2)).slots
    3
    >>> rescaling.give_up("there are no more slots")
    True
    >>> rescaling.next(Attempt(3)).slots, rescaling.answers()
    (2, [RescaleOver(number=1, failure='there are no more slots')])
    """

    def __init__(self, place: Callable[[Attempt], Placement]) -> None:
        """`place` decides the placement of an attempt if the job was not rescaled; it is pure."""
        self._place = place
        self._chosen: Placement | None = None
        """The placement that the job was rescaled to, None: it was not rescaled."""
        self._slots_max: int | None = None
        """The largest number of slots that an attempt may use since the last rescale; None: no limit."""
        self.launch_max: int | None = None
        """The number of slots of the newest launch, if it has fewer than were ordered; else None."""
        self._wanted: Placement | None = None
        self._next: Placement | None = None
        self.ran: Placement | None = None
        """The placement of the newest attempt that has run."""
        self._before: tuple[Placement | None, int | None] = (None, None)
        """The placement and the largest number of slots that apply again if the tried rescale fails."""
        self._under_way: RescaleRequested | None = None
        self._is_tried = False
        self._answers: list[RescaleOver] = []

    @property
    def wanted(self) -> Placement:
        """The placement that the newest attempt would have with enough slots."""
        assert self._wanted is not None
        return self._wanted

    def next(self, attempt: Attempt) -> Placement:
        """Return the placement of a coming attempt."""
        self._wanted = self._chosen or self._place(attempt)
        self._next = fitted(fitted(self._wanted, self._slots_max), self.launch_max)
        return self._next

    @property
    def is_under_way(self) -> bool:
        """Whether a rescale is wanted or tried."""
        return self._under_way is not None

    @property
    def is_tried(self) -> bool:
        """Whether the next failure leads back to the placement before the rescale."""
        return self._is_tried

    def want(self, request: RescaleRequested) -> None:
        """Begin a rescale: it is wanted, and waits for a checkpoint."""
        self._under_way = request

    def begin(self) -> None:
        """Try the wanted rescale: the next attempts have its placement."""
        request = self._under_way
        assert request is not None
        self._is_tried = True
        self._before = self._chosen, self._slots_max if self.ran is None else self.ran.slots
        self._chosen, self._slots_max, self.launch_max = request.placement, request.slots_max, None

    def runs(self, request: RescaleRequested) -> bool:
        """Return whether the newest attempt that has run has the placement of the request."""
        return fitted(request.placement, request.slots_max) == self.ran

    def choose(self, request: RescaleRequested) -> None:
        """Answer a request for the placement that the job already runs in, and keep wanting this placement."""
        self._chosen = self._wanted = request.placement
        self.answer(request.number, None)

    def answer(self, number: int, failure: str | None) -> None:
        """Answer a request."""
        self._answers.append(RescaleOver(number=number, failure=failure))

    def settle(self) -> None:
        """The newest attempt runs, so a rescale that is tried has succeeded."""
        self.ran = self._next
        if self._is_tried:
            self._over(None)

    def give_up(self, failure: str) -> bool:
        """End a rescale under way, if any; return whether it was tried, so that the next attempt goes back."""
        was_tried = self._is_tried
        if was_tried:
            self._chosen, self._slots_max = self._before
        if self._under_way is not None:
            self._over(failure)
        return was_tried

    def _over(self, failure: str | None) -> None:
        assert self._under_way is not None
        self.answer(self._under_way.number, failure)
        self._under_way = None
        self._is_tried = False

    def answers(self) -> list[RescaleOver]:
        """Return the answers since the last call."""
        answers, self._answers = self._answers, []
        return answers
