"""Requests to rescale a running job: what they come to, and who waits for which answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Final, Protocol, final

from headgate.clock import Clock
from headgate.errors import EnvironmentFault, HeadgateError, ProgramError, RescaleError
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement, place
from headgate.runtime.io import WaitingIo
from headgate.runtime.master.supervision import RescaleOver, RescaleRequested

Bounds = Mapping[int, tuple[int, int]]
"""The least and the most subtasks that a vertex is to have, by its id; vertices that are not named stay as they are."""

_log = logging.getLogger(__name__)

RUNS_SO: Final = "the job runs at parallelism {}"


class RescaleHost(Protocol):
    """What rescales ask of the job master."""

    @property
    def io(self) -> WaitingIo:
        """Where blocking work is done."""
        ...

    @property
    def placement(self) -> Placement:
        """The placement of the newest attempt that has run."""
        ...

    def slots_max(self) -> int | None:
        """Return how many slots a launch could have if the present one ended; None: any number. Blocks."""
        ...

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    def request_rescale(self, request: RescaleRequested) -> None:
        """Take a request to the supervisor."""
        ...


@final
class Rescales:
    """The rescales of one job that are not answered yet. Owned by the job master's loop.

    An answer is a sentence on the parallelism that the job runs at, or an error that says why it is the one before.
    """

    def __init__(self, plan: JobGraph, host: RescaleHost) -> None:
        self._plan = plan
        self._host = host
        self._answers: dict[int, tuple[Placement, Future[str]]] = {}
        self._numbers = 0

    def request(self, bounds: Bounds, answer: Future[str]) -> None:
        """Have the job go on at another parallelism, once it is known how many slots there can be."""
        if not answer.set_running_or_notify_cancel():
            return

        def done(slots_max: int | BaseException | None) -> None:
            if isinstance(slots_max, BaseException):
                answer.set_exception(slots_max)
                return
            try:
                self._ask(placement_of(self._plan, self._host.placement, bounds, slots_max), answer)
            except HeadgateError as error:
                answer.set_exception(error)

        self._host.io.submit(self._host.slots_max, done)

    def _ask(self, placement: Placement, answer: Future[str]) -> None:
        if placement.parallelism == self._host.placement.parallelism:
            answer.set_result(RUNS_SO.format(described(placement)))
            return
        self._begin(placement, answer)

    def grow(self, wanted: Placement) -> None:
        """Have the job go on with more slots, now that there are some: with as many as it wants, or as there are."""
        answer = Future[str]()
        answer.add_done_callback(_log_growth)
        self._begin(wanted, answer)

    def _begin(self, placement: Placement, answer: Future[str]) -> None:
        self._numbers += 1
        self._answers[self._numbers] = placement, answer
        now_ms = self._host.clock.monotonic_ms()
        self._host.request_rescale(RescaleRequested(number=self._numbers, placement=placement, now_ms=now_ms))

    def over(self, outcome: RescaleOver) -> None:
        """Answer the request."""
        placement, answer = self._answers.pop(outcome.number)
        if outcome.failure is None:
            answer.set_result(RUNS_SO.format(described(self._host.placement)))
        else:
            answer.set_exception(
                RescaleError(f"job {self._plan.job_id} was not rescaled to {described(placement)}: {outcome.failure}")
            )


def _log_growth(answer: Future[str]) -> None:
    error = answer.exception()
    if error is None:
        _log.info("there are more task slots: %s", answer.result())
    else:
        _log.warning("%s", error)


def placement_of(plan: JobGraph, present: Placement, bounds: Bounds, slots_max: int | None) -> Placement:
    """Return the widest placement within the bounds that so many slots can hold.

    Raises ProgramError for a parallelism that a vertex cannot have, EnvironmentFault when there are too few slots.
    """
    counts = list(present.parallelism)
    for vertex, (least, most) in bounds.items():
        if not 1 <= least <= most:
            name = plan.vertices[vertex].name
            raise ProgramError(f"{name!r} is to have {least} to {most} subtasks: the lower bound is 1 to the upper one")
        counts[vertex] = most if slots_max is None else max(least, min(most, slots_max))
    placed = place(plan, counts)
    if slots_max is not None and placed.slots > slots_max:
        raise EnvironmentFault(
            f"the job is to have {placed.slots} task slots, but Spark has {slots_max} for it: add executors or cores, "
            "wait for other work, or ask for a lower parallelism"
        )
    return placed


def described(placement: Placement) -> str:
    """Return the parallelism in a word: one number, or those of all vertices in the order of the plan.

    >>> described(Placement(parallelism=(2, 2))), described(Placement(parallelism=(2, 1)))
    ('2', '2, 1')
    """
    numbers = placement.parallelism
    return str(numbers[0]) if len(set(numbers)) == 1 else ", ".join(map(str, numbers))
