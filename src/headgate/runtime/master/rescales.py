"""Requests to rescale a running job: what they come to, and who waits for which answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final, Protocol, final

from headgate import options
from headgate.clock import Clock
from headgate.errors import EnvironmentFault, HeadgateError, ProgramError, RescaleError
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement, fitted, place
from headgate.runtime.io import WaitingIo
from headgate.runtime.master.supervision import RescaleOver, RescaleRequested

_log = logging.getLogger(__name__)

Bounds = Mapping[int, tuple[int, int]]
"""The least and the most subtasks that a vertex is to have, by its id; vertices that are not named stay as they are."""

RUNS_SO: Final = "the job runs at parallelism {}"


class RescaleHost(Protocol):
    """What rescales ask of the job master."""

    @property
    def io(self) -> WaitingIo:
        """Where blocking work is done."""
        ...

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    @property
    def placement(self) -> Placement:
        """The placement of the newest attempt that has run."""
        ...

    @property
    def wanted(self) -> Placement:
        """The placement that it would have if there were slots enough."""
        ...

    def slots_counted(self, done: Callable[[int | None], None]) -> None:
        """Count the slots that a launch could have if the present one ended; None: any number. Does not block."""
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
        if not self._plan.checkpointing:
            key = options.CHECKPOINT_INTERVAL.key
            why = f"it makes no checkpoints, from which it could go on: set {key}"
            answer.set_exception(RescaleError(f"job {self._plan.job_id} was not rescaled: {why}"))
            return

        def done(slots_max: int | None) -> None:
            is_adaptive = options.is_adaptive(self._plan.settings)
            try:
                wanted = wanted_of(self._plan, self._host.wanted, bounds, slots_max, is_adaptive=is_adaptive)
            except HeadgateError as error:
                answer.set_exception(error)
            else:
                self._begin(wanted, slots_max, answer)

        self._host.slots_counted(done)

    def grow(self, slots_max: int, failed: Callable[[], None]) -> None:
        """Have the job go on with more slots, now that there are some; `failed` is called if that comes to nothing."""

        def over(answer: Future[str]) -> None:
            error = answer.exception()
            if error is None:
                _log.info("there are more task slots: %s", answer.result())
            else:
                _log.warning("%s", error)
                failed()

        answer = Future[str]()
        answer.add_done_callback(over)
        self._begin(self._host.wanted, slots_max, answer)

    def _begin(self, wanted: Placement, slots_max: int | None, answer: Future[str]) -> None:
        self._numbers += 1
        self._answers[self._numbers] = fitted(wanted, slots_max), answer
        now_ms = self._host.clock.monotonic_ms()
        self._host.request_rescale(
            RescaleRequested(number=self._numbers, placement=wanted, slots_max=slots_max, now_ms=now_ms)
        )

    def over(self, outcome: RescaleOver) -> None:
        """Answer the request."""
        placement, answer = self._answers.pop(outcome.number)
        if outcome.failure is None:
            answer.set_result(RUNS_SO.format(described(self._host.placement)))
        else:
            answer.set_exception(
                RescaleError(f"job {self._plan.job_id} was not rescaled to {described(placement)}: {outcome.failure}")
            )


def wanted_of(
    plan: JobGraph, before: Placement, bounds: Bounds, slots_max: int | None, *, is_adaptive: bool
) -> Placement:
    """Return the widest placement within the bounds; for a job that does not adapt itself, that so many slots can hold.

    `before` has what the job has wanted until now. Raises ProgramError for a parallelism that a vertex cannot have,
    EnvironmentFault when there are too few slots for the lower bounds.
    """
    counts = list(before.parallelism)
    for vertex, (least, most) in bounds.items():
        if not 1 <= least <= most:
            name = plan.vertices[vertex].name
            raise ProgramError(f"{name!r} is to have {least} to {most} subtasks: the lower bound is 1 to the upper one")
        counts[vertex] = most if slots_max is None or is_adaptive else max(least, min(most, slots_max))
    placed = place(plan, counts)
    needed = max((least for least, _ in bounds.values()), default=1) if is_adaptive else placed.slots
    if slots_max is not None and needed > slots_max:
        raise EnvironmentFault(
            f"the job is to have {needed} task slots, but Spark has {slots_max} for it: add executors or cores, "
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
