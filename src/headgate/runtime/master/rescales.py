"""Rescales of a running job: requests of users, with their answers, and growth when there are more slots.

A job that runs in fewer slots than it wants grows. After the cooldown, slots are counted every second. If the job can
have all slots that it wants, it grows at once. If it can have only some more slots, but enough of them to justify a
restart, it grows after these slots have been available for a while.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, final

from headgate import options
from headgate.errors import EnvironmentFault, HeadgateError, ProgramError, RescaleError
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement, fitted, place
from headgate.ids import Attempt
from headgate.runtime.master.services import SlotCount
from headgate.runtime.master.supervisor_vocabulary import RescaleOver, RescaleRequested

COUNT_EVERY_MS: Final = 1_000.0
"""Milliseconds between two counts of slots after the cooldown."""
FAILURES_MAX: Final = 6
"""Failed tries after which the cooldown is no longer doubled: it is then 64 times as long."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthSettings:
    """When a job grows. `increase_min` is the smallest number of further slots for which it restarts."""

    cooldown_ms: float
    stabilization_ms: float
    increase_min: int


@final
class Growth:
    """Decides when one job grows. Pure; owned by the job master's loop.

    >>> growth = Growth(GrowthSettings(cooldown_ms=5_000.0, stabilization_ms=3_000.0, increase_min=1))
    >>> growth.started(slots=1, wanted=3, now_ms=0.0)
    >>> growth.counting(4_999.0), growth.counting(5_000.0)
    (False, True)
    >>> growth.counted(2, 5_000.0), growth.counted(2, 8_000.0), growth.counted(3, 8_000.0)
    (False, True, True)
    """

    def __init__(self, settings: GrowthSettings) -> None:
        self._settings = settings
        self._slots = self._wanted = 0
        self._failures = 0
        self._count_ms: float | None = None
        self._since_ms: float | None = None
        """Since when enough further slots have been available; None while too few are."""

    @property
    def wake_ms(self) -> float | None:
        """When slots are to be counted next, None: no need."""
        return self._count_ms

    def started(self, slots: int, wanted: int, now_ms: float) -> None:
        """Note that an attempt runs in `slots` slots, and that the job wants `wanted` slots."""
        if slots > self._slots:
            self._failures = 0
        self._slots, self._wanted = slots, wanted
        self._since_ms = None
        self._cool_down(now_ms)

    def failed(self, now_ms: float) -> None:
        """Note that the growth failed: the next cooldown is twice as long."""
        self._failures = min(self._failures + 1, FAILURES_MAX)
        self._cool_down(now_ms)

    def _cool_down(self, now_ms: float) -> None:
        cooldown_ms = self._settings.cooldown_ms * 2**self._failures
        self._count_ms = now_ms + cooldown_ms if self._slots < self._wanted else None

    def ended(self) -> None:
        """Note that the attempt has ended: no slots are counted."""
        self._count_ms = None

    def counting(self, now_ms: float) -> bool:
        """Return whether slots are to be counted now."""
        if self._count_ms is None or now_ms < self._count_ms:
            return False
        self._count_ms = now_ms + COUNT_EVERY_MS
        return True

    def counted(self, slots_max: int, now_ms: float) -> bool:
        """Return whether the job is to continue with more slots, given that it could have `slots_max`."""
        if self._count_ms is None:
            return False
        if slots_max >= self._wanted:
            return True
        if slots_max < self._slots + self._settings.increase_min:
            self._since_ms = None
            return False
        if self._since_ms is None:
            self._since_ms = now_ms
        return now_ms - self._since_ms >= self._settings.stabilization_ms


_log = logging.getLogger(__name__)

Bounds = Mapping[int, tuple[int, int]]
"""The lower and upper bound of the parallelism, by the id of the vertex. Other vertices stay as they are."""

SETTLE_MS: Final = 4_000.0
"""Milliseconds that a request waits for slots that still count as taken, since the work in them may be ending."""
COUNT_AGAIN_MS: Final = 100.0
"""Milliseconds between two counts of slots while a request waits."""
RUNS_SO: Final = "the job runs at parallelism {}"


@final
@dataclass(frozen=True, slots=True)
class AwaitedRescale:
    """A user's request that has not reached the supervisor. It may wait for free slots until `until_ms`."""

    bounds: Bounds
    answer: Future[str]
    until_ms: float


@final
@dataclass(frozen=True, slots=True)
class CountSlots:
    """Count the slots that a launch could have if the present launch ended, then call `Rescales.counted`.

    The count is for a user's request, or, if `request` is None, for the growth of `attempt`. `attempt` is None when no
    attempt can grow now.
    """

    request: AwaitedRescale | None
    attempt: Attempt | None = None


@final
class Rescales:
    """The rescales of one job: requests of users, and its growth. Owned by the job master's loop.

    The answer to a user is a sentence with the new parallelism, or an error with the reason why the job was not
    rescaled.
    """

    def __init__(self, plan: JobGraph, growth: Growth) -> None:
        self._plan = plan
        self._growth = growth
        self._is_counting_for_growth = False
        self._answers: dict[int, tuple[Placement, Future[str] | None]] = {}
        """The placement of each rescale under way, and the user's answer; None: the job grows."""
        self._numbers = 0
        self._waiting: list[AwaitedRescale] = []
        """Requests that found too few slots, and wait for more to become free."""
        self._count_ms = 0.0

    # --- events

    def request(self, bounds: Bounds, answer: Future[str], now_ms: float) -> list[CountSlots]:
        """Handle a user's request for another parallelism: first count the slots that the job could have."""
        if not answer.set_running_or_notify_cancel():
            return []
        if not self._plan.checkpointing:
            key = options.CHECKPOINT_INTERVAL.key
            answer.set_exception(self._refusal(f"it makes no checkpoints to go on from: set {key}"))
            return []
        return [CountSlots(AwaitedRescale(bounds, answer, now_ms + SETTLE_MS))]

    def attempt_runs(self, slots: int, wanted: Placement, now_ms: float) -> None:
        """Note that an attempt of a job with checkpoints runs in `slots` slots, and that the job wants `wanted`."""
        self._growth.started(slots, wanted.slots, now_ms)

    def attempt_ended(self) -> None:
        """Note that the attempt has ended, so that it does not grow."""
        self._growth.ended()

    @property
    def wake_ms(self) -> float | None:
        """When to call `step` next, None: no need."""
        wakes = (self._growth.wake_ms, self._count_ms if self._waiting else None)
        return min((wake for wake in wakes if wake is not None), default=None)

    def step(self, free_attempt: Attempt | None, now_ms: float) -> list[CountSlots]:
        """Count slots, if it is time. `free_attempt` runs and could be rescaled now; None: no attempt could."""
        counts: list[CountSlots] = []
        if self._growth.counting(now_ms) and not self._is_counting_for_growth:
            self._is_counting_for_growth = True
            counts.append(CountSlots(None, free_attempt))
        if self._waiting and now_ms >= self._count_ms:
            counts += map(CountSlots, self._waiting)
            self._waiting = []
        return counts

    def counted(
        self,
        counted: CountSlots,
        count: SlotCount | BaseException | None,
        wanted: Placement,
        free_attempt: Attempt | None,
        now_ms: float,
    ) -> list[RescaleRequested]:
        """Handle a count of slots. `count` is None for any number, or the exception of a count that failed.

        `wanted` is the placement that the job would have with enough slots; `free_attempt` is as in `step`.
        """
        if counted.request is not None:
            return self._counted_for_request(counted.request, count, wanted, now_ms)
        self._is_counting_for_growth = False
        if isinstance(count, BaseException):
            _log.warning("headgate cannot count the task slots of the cluster: %s", count)
            return []
        if count is None or counted.attempt is None or counted.attempt != free_attempt:
            return []
        if not self._growth.counted(count.now, now_ms):
            return []
        self._growth.ended()
        return [self._begun(wanted, count.now, None, now_ms)]

    def over(self, outcome: RescaleOver, runs: Placement, now_ms: float) -> None:
        """Handle the end of a rescale: answer the user, or log the end of growth. The job runs in placement `runs`."""
        placement, answer = self._answers.pop(outcome.number)
        what = f"job {self._plan.job_id} was not rescaled to {described(placement)}: {outcome.failure}"
        runs_so = RUNS_SO.format(described(runs))
        match answer, outcome.failure:
            case None, None:
                _log.info("there are more task slots: %s", runs_so)
            case None, _:
                _log.warning("%s", what)
                self._growth.failed(now_ms)
            case asked, None:
                asked.set_result(runs_so)
            case asked, _:
                asked.set_exception(RescaleError(what))

    # --- requests of users

    def _counted_for_request(
        self, asked: AwaitedRescale, count: SlotCount | BaseException | None, wanted: Placement, now_ms: float
    ) -> list[RescaleRequested]:
        try:
            return self._decided(asked, count, wanted, now_ms)
        except HeadgateError as error:
            asked.answer.set_exception(error)
            return []

    def _decided(
        self, asked: AwaitedRescale, count: SlotCount | BaseException | None, wanted: Placement, now_ms: float
    ) -> list[RescaleRequested]:
        if isinstance(count, BaseException):
            why = str(count) or type(count).__name__
            raise self._refusal(f"Spark could not be asked how many task slots it has for the job: {why}")
        if count is not None and now_ms < asked.until_ms and self._may_settle(asked.bounds, count, wanted):
            self._waiting.append(asked)
            self._count_ms = now_ms + COUNT_AGAIN_MS
            return []
        is_adaptive = options.is_adaptive(self._plan.settings)
        placement = wanted_of(self._plan, wanted, asked.bounds, count, is_adaptive=is_adaptive)
        return [self._begun(placement, None if count is None else count.now, asked.answer, now_ms)]

    def _may_settle(self, bounds: Bounds, count: SlotCount, wanted: Placement) -> bool:
        """Return whether the job could get more slots than now if other work ended."""
        most = place(self._plan, widest(self._plan, wanted, bounds, count.in_all)).slots
        return count.now < min(most, count.in_all)

    def _refusal(self, why: str) -> RescaleError:
        return RescaleError(f"job {self._plan.job_id} was not rescaled: {why}")

    def _begun(
        self, wanted: Placement, slots_max: int | None, answer: Future[str] | None, now_ms: float
    ) -> RescaleRequested:
        self._numbers += 1
        self._answers[self._numbers] = fitted(wanted, slots_max), answer
        return RescaleRequested(number=self._numbers, placement=wanted, slots_max=slots_max, now_ms=now_ms)


def widest(plan: JobGraph, before: Placement, bounds: Bounds, slots_max: int | None) -> list[int]:
    """Return the largest parallelism of each vertex that the bounds and the number of slots allow.

    Lower bounds are kept, also where there are too few slots for them.
    Raises ProgramError for bounds that no parallelism fits.
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
    """Return the widest placement within the bounds. For a job that does not adapt, it also fits into the slots.

    `before` is the placement that the job has wanted until now. Raises ProgramError for a parallelism that a vertex
    cannot have, EnvironmentFault when there are too few slots for the lower bounds.
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
    """Return the parallelism as text: one number, or the numbers of all vertices in the order of the plan.

    >>> described(Placement(parallelism=(2, 2))), described(Placement(parallelism=(2, 1)))
    ('2', '2, 1')
    """
    numbers = placement.parallelism
    return str(numbers[0]) if len(set(numbers)) == 1 else ", ".join(map(str, numbers))
