"""The placement of attempts: that of the job's policy until the job is rescaled, and the way back from that. Pure.

A rescale is *wanted* until there is a checkpoint to go on from. Then it is *tried*, until an attempt runs in the new
placement or fails to. One that fails leaves the placement as it was before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from headgate.graph.placement import Placement
from headgate.ids import Attempt
from headgate.runtime.master.supervision import RescaleOver


@final
class Rescaling:
    """Decides on the placement of each attempt. Owned by the supervisor.

    >>> rescaling = Rescaling(lambda attempt: Placement(parallelism=(2,)))
    >>> rescaling.want(1, Placement(parallelism=(3,)))
    >>> rescaling.begin()
    >>> rescaling.next(Attempt(2)).slots
    3
    >>> rescaling.give_up("there are no more slots")
    True
    >>> rescaling.next(Attempt(3)).slots, rescaling.answers()
    (2, [RescaleOver(number=1, failure='there are no more slots')])
    """

    def __init__(self, place: Callable[[Attempt], Placement]) -> None:
        """`place` decides how an attempt of a job that was not rescaled is placed; it is pure."""
        self._place = place
        self._chosen: Placement | None = None
        """What the job was rescaled to."""
        self._before: Placement | None = None
        self._wanted: tuple[int, Placement] | None = None
        self._is_tried = False
        self._answers: list[RescaleOver] = []

    def next(self, attempt: Attempt) -> Placement:
        """Return the placement of an attempt that is to come."""
        return self._chosen or self._place(attempt)

    @property
    def is_under_way(self) -> bool:
        """Whether a rescale is wanted or tried."""
        return self._wanted is not None

    def want(self, number: int, placement: Placement) -> None:
        """Note a rescale."""
        self._wanted = number, placement

    def begin(self) -> None:
        """Try what is wanted: the next attempts are placed so."""
        assert self._wanted is not None
        self._is_tried = True
        self._before, (_, self._chosen) = self._chosen, self._wanted

    def refuse(self, number: int, failure: str) -> None:
        """Answer a request that nothing comes of."""
        self._answers.append(RescaleOver(number=number, failure=failure))

    def settle(self) -> None:
        """An attempt runs: what is tried has come about."""
        if self._is_tried:
            self._over(None)

    def give_up(self, failure: str) -> bool:
        """End a rescale that is under way, if any; return whether it was tried, and the next attempt goes back."""
        was_tried = self._is_tried
        if was_tried:
            self._chosen = self._before
        if self._wanted is not None:
            self._over(failure)
        return was_tried

    def _over(self, failure: str | None) -> None:
        assert self._wanted is not None
        number, _ = self._wanted
        self._wanted = self._before = None
        self._is_tried = False
        self._answers.append(RescaleOver(number=number, failure=failure))

    def answers(self) -> list[RescaleOver]:
        """Return the answers that were not given yet."""
        answers, self._answers = self._answers, []
        return answers
