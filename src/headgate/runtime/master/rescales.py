"""Requests to rescale a running job: what they come to, and who waits for which answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, Protocol, final

from headgate import options
from headgate.clock import Clock
from headgate.errors import EnvironmentFault, HeadgateError, ProgramError, RescaleError
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement, fitted, place
from headgate.runtime.master.services import SlotCount
from headgate.runtime.master.supervision import RescaleOver, RescaleRequested

_log = logging.getLogger(__name__)

Bounds = Mapping[int, tuple[int, int]]
"""The least and the most subtasks that a vertex is to have, by its id; vertices that are not named stay as they are."""

SETTLE_MS: Final = 4_000.0
"""How long a request waits for slots that still count as taken: those of other work, or their own, may be ending."""
COUNT_AGAIN_MS: Final = 100.0
RUNS_SO: Final = "the job runs at parallelism {}"


class RescaleHost(Protocol):
    """What rescales ask of the job master."""

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

    def slots_counted(self, done: Callable[[SlotCount | BaseException | None], None]) -> None:
        """Count the slots that a launch could have if the present one ended; None: any number. Does not block."""
        ...

    def request_rescale(self, request: RescaleRequested) -> None:
        """Take a request to the supervisor."""
        ...


@final
@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that has not reached the supervisor, and until when it may wait for slots."""

    bounds: Bounds
    answer: Future[str]
    until_ms: float


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
        self._waiting: list[_Asked] = []
        """Requests that have found too few slots, which may become more in a moment."""
        self._count_ms = 0.0

    def request(self, bounds: Bounds, answer: Future[str]) -> None:
        """Have the job go on at another parallelism, once it is known how many slots there can be."""
        if not answer.set_running_or_notify_cancel():
            return
        if not self._plan.checkpointing:
            key = options.CHECKPOINT_INTERVAL.key
            answer.set_exception(self._refusal(f"it makes no checkpoints to go on from: set {key}"))
        else:
            self._count(_Asked(bounds, answer, self._now() + SETTLE_MS))

    @property
    def wake_ms(self) -> float | None:
        """When to call `step` next, None: no need."""
        return self._count_ms if self._waiting else None

    def step(self, now_ms: float) -> None:
        """Count slots again for the requests that wait for them, if it is time."""
        if self._waiting and now_ms >= self._count_ms:
            waiting, self._waiting = self._waiting, []
            for asked in waiting:
                self._count(asked)

    def _count(self, asked: _Asked) -> None:
        def done(count: SlotCount | BaseException | None) -> None:
            try:
                self._counted(asked, count)
            except HeadgateError as error:
                asked.answer.set_exception(error)

        self._host.slots_counted(done)

    def _counted(self, asked: _Asked, count: SlotCount | BaseException | None) -> None:
        if isinstance(count, BaseException):
            why = str(count) or type(count).__name__
            raise self._refusal(f"Spark could not be asked how many task slots it has for the job: {why}")
        if count is not None and self._now() < asked.until_ms and self._may_settle(asked.bounds, count):
            self._waiting.append(asked)
            self._count_ms = self._now() + COUNT_AGAIN_MS
            return
        is_adaptive = options.is_adaptive(self._plan.settings)
        wanted = wanted_of(self._plan, self._host.wanted, asked.bounds, count, is_adaptive=is_adaptive)
        self._begin(wanted, None if count is None else count.now, asked.answer)

    def _may_settle(self, bounds: Bounds, count: SlotCount) -> bool:
        """Whether the job could have more slots than it would get now, if other work ended."""
        most = place(self._plan, widest(self._plan, self._host.wanted, bounds, count.in_all)).slots
        return count.now < min(most, count.in_all)

    def _refusal(self, why: str) -> RescaleError:
        return RescaleError(f"job {self._plan.job_id} was not rescaled: {why}")

    def _now(self) -> float:
        return self._host.clock.monotonic_ms()

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
        self._host.request_rescale(
            RescaleRequested(number=self._numbers, placement=wanted, slots_max=slots_max, now_ms=self._now())
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


def widest(plan: JobGraph, before: Placement, bounds: Bounds, slots_max: int | None) -> list[int]:
    """Return the most subtasks of each vertex within the bounds, and above the lower ones in so many slots.

    Raises ProgramError for bounds that cannot be.
    """
    counts = list(before.parallelism)
    for vertex, (least, most) in bounds.items():
        if not 1 <= least <= most:
            name = plan.vertices[vertex].name
            raise ProgramError(
                f"{name!r} is to have {least} to {most} subtasks: the lower bound must be from 1 to the upper bound"
            )
        counts[vertex] = most if slots_max is None else max(least, min(most, slots_max))
    return counts


def wanted_of(
    plan: JobGraph, before: Placement, bounds: Bounds, count: SlotCount | None, *, is_adaptive: bool
) -> Placement:
    """Return the widest placement within the bounds; for a job that does not adapt itself, that so many slots can hold.

    `before` has what the job has wanted until now. Raises ProgramError for a parallelism that a vertex cannot have,
    EnvironmentFault when there are too few slots for the lower bounds.
    """
    placed = place(plan, widest(plan, before, bounds, None if count is None or is_adaptive else count.now))
    needed = max((least for least, _ in bounds.values()), default=1) if is_adaptive else placed.slots
    if count is not None and needed > count.now:
        raise EnvironmentFault(
            f"the job is to have {needed} task slots, but Spark has {count.now} for it, of {count.in_all} in "
            f"all{count.limit}: {count.more}, or ask for a lower parallelism"
        )
    return placed


def described(placement: Placement) -> str:
    """Return the parallelism in a word: one number, or those of all vertices in the order of the plan.

    >>> described(Placement(parallelism=(2, 2))), described(Placement(parallelism=(2, 1)))
    ('2', '2, 1')
    """
    numbers = placement.parallelism
    return str(numbers[0]) if len(set(numbers)) == 1 else ", ".join(map(str, numbers))
