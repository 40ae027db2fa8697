"""Options of the slots that a job waits for, and of when a slot is lost."""

from __future__ import annotations

from typing import Final

from headgate.config import Option, Settings
from headgate.config_kinds import DURATION_MS, INTEGER, LIMIT_MS, one_of

_PREFIX: Final = "jobmanager.adaptive-scheduler."

START_TIMEOUT: Final = Option[int](
    "headgate.slot.start-timeout", DURATION_MS, 120_000, "All slots must register within this time.", (), 10
)
SLOT_REQUEST_TIMEOUT: Final = Option[int](
    "slot.request.timeout",
    DURATION_MS,
    300_000,
    "How long after the start of the Spark session a job waits for the first executor to register.",
    (),
    10,
)
HEARTBEAT_INTERVAL: Final = Option[int](
    "headgate.slot.heartbeat.interval", DURATION_MS, 1000, "Time between heartbeats of a slot.", (), 10
)
HEARTBEAT_TIMEOUT: Final = Option[int](
    "headgate.slot.heartbeat.timeout",
    DURATION_MS,
    10_000,
    "A slot without a heartbeat for longer is lost. Must be above the interval.",
    (),
    10,
)
TEARDOWN_TIMEOUT: Final = Option[int](
    "headgate.slot.teardown-timeout",
    DURATION_MS,
    10_000,
    "A slot that takes longer to end an attempt is killed.",
    (),
    10,
)
SCHEDULER: Final = Option[str](
    "jobmanager.scheduler",
    one_of("default", "adaptive", synonyms={"ng": "default"}),
    "default",
    "default: the job waits for all slots that it wants. adaptive: it also runs with fewer.",
)
SLOTS_WAIT: Final = Option[int | None](
    f"{_PREFIX}submission.resource-wait-timeout",
    LIMIT_MS,
    300_000,
    "How long an adaptive job waits for a first slot, at its start and at restarts. -1: without limit.",
    (f"{_PREFIX}resource-wait-timeout",),
)
SLOTS_STABILIZATION: Final = Option[int](
    f"{_PREFIX}submission.resource-stabilization-timeout",
    DURATION_MS,
    10_000,
    "How long the number of free slots must stay the same before an adaptive job starts with fewer than it wants.",
    (f"{_PREFIX}resource-stabilization-timeout",),
)
RESCALE_COOLDOWN: Final = Option[int](
    f"{_PREFIX}executing.cooldown-after-rescaling",
    DURATION_MS,
    30_000,
    "How long an adaptive job runs before it uses more slots.",
    (f"{_PREFIX}scaling-interval.min",),
)
RESCALE_STABILIZATION: Final = Option[int](
    f"{_PREFIX}executing.resource-stabilization-timeout",
    DURATION_MS,
    60_000,
    "How long more slots must be free before an adaptive job uses them, unless it then has all that it wants.",
)
PARALLELISM_INCREASE_MIN: Final = Option[int](
    f"{_PREFIX}min-parallelism-increase",
    INTEGER,
    1,
    "Smallest number of slots by which an adaptive job grows, unless it then has all that it wants.",
    (),
    1,
)


def is_adaptive(settings: Settings) -> bool:
    """Return whether a job also runs with fewer slots than it wants."""
    return settings.get(SCHEDULER) == "adaptive"
