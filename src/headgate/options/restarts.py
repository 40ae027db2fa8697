"""Options of restarts after a failure."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import DURATION_MS, INTEGER, NUMBER, one_of

RESTART_STRATEGY: Final = Option[str | None](
    "restart-strategy.type",
    one_of(
        "none",
        "fixed-delay",
        "failure-rate",
        "exponential-delay",
        synonyms={
            "off": "none",
            "disable": "none",
            "fixeddelay": "fixed-delay",
            "failurerate": "failure-rate",
            "exponentialdelay": "exponential-delay",
        },
    ),
    None,
    "What happens after a failure. Not set: exponential-delay if the job makes checkpoints, else none.",
    ("restart-strategy",),
)
RESTART_ATTEMPTS: Final = Option[int](
    "restart-strategy.fixed-delay.attempts", INTEGER, 1, "Restarts before the job fails for good.", (), 0
)
RESTART_DELAY: Final = Option[int](
    "restart-strategy.fixed-delay.delay", DURATION_MS, 1000, "Time between a failure and the restart."
)
FAILURE_RATE_MAX: Final = Option[int](
    "restart-strategy.failure-rate.max-failures-per-interval",
    INTEGER,
    1,
    "Failures within the interval that the job survives; one more fails the job.",
    (),
    1,
)
FAILURE_RATE_INTERVAL: Final = Option[int](
    "restart-strategy.failure-rate.failure-rate-interval",
    DURATION_MS,
    60_000,
    "Length of the interval, which ends at the newest failure.",
    (),
    1,
)
FAILURE_RATE_DELAY: Final = Option[int](
    "restart-strategy.failure-rate.delay", DURATION_MS, 1000, "Time between a failure and the restart."
)
BACKOFF_INITIAL: Final = Option[int](
    "restart-strategy.exponential-delay.initial-backoff",
    DURATION_MS,
    1000,
    "Time between the first failure and the restart.",
    (),
    1,
)
BACKOFF_MAX: Final = Option[int](
    "restart-strategy.exponential-delay.max-backoff",
    DURATION_MS,
    60_000,
    "Longest time between a failure and the restart.",
    (),
    1,
)
BACKOFF_MULTIPLIER: Final = Option[float](
    "restart-strategy.exponential-delay.backoff-multiplier",
    NUMBER,
    1.5,
    "Factor, above 1, by which the time before a restart grows with each failure.",
)
BACKOFF_JITTER: Final = Option[float](
    "restart-strategy.exponential-delay.jitter-factor",
    NUMBER,
    0.1,
    "Random part, from 0 to 1, of the time before a restart, so that jobs do not restart all at once.",
)
BACKOFF_RESET_THRESHOLD: Final = Option[int](
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    DURATION_MS,
    3_600_000,
    "Time without a failure after which the time before a restart is the initial one again.",
    (),
    1,
)
BACKOFF_ATTEMPTS: Final = Option[int | None](
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    INTEGER,
    None,
    "Restarts before the job fails for good; a reset restarts the count. Not set: any number.",
    (),
    1,
)
