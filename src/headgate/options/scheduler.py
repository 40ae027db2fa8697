"""Options of how many task slots a job makes do with."""

from __future__ import annotations

from typing import Final

from headgate.config import Option, Settings
from headgate.config_kinds import DURATION_MS, INTEGER, LIMIT_MS, one_of

_PREFIX: Final = "jobmanager.adaptive-scheduler."

SCHEDULER: Final = Option[str](
    "jobmanager.scheduler",
    one_of("default", "adaptive", synonyms={"ng": "default"}),
    "default",
    "Whether the job waits for all slots that it wants (default), or goes on with those that there are (adaptive).",
)
SLOTS_WAIT: Final = Option[int | None](
    f"{_PREFIX}submission.resource-wait-timeout",
    LIMIT_MS,
    300_000,
    "How long an adaptive job waits for a first slot, at its start and at restarts. With -1: as long as it takes.",
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
    "How long an adaptive job runs before it takes up further slots.",
    (f"{_PREFIX}scaling-interval.min",),
)
RESCALE_STABILIZATION: Final = Option[int](
    f"{_PREFIX}executing.resource-stabilization-timeout",
    DURATION_MS,
    60_000,
    "How long further slots must be free before an adaptive job takes them up, unless they are all that it wants.",
)
PARALLELISM_INCREASE_MIN: Final = Option[int](
    f"{_PREFIX}min-parallelism-increase",
    INTEGER,
    1,
    "By how many slots an adaptive job grows at least, unless they are all that it wants.",
    (),
    1,
)


def is_adaptive(settings: Settings) -> bool:
    """Return whether a job goes on with the slots that there are."""
    return settings.get(SCHEDULER) == "adaptive"
