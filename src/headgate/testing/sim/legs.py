"""Random journeys: jobs run one after the other, each from the state that the previous job has left.

Each leg runs the same program, at another parallelism and with other settings. It is ended from outside at a random
time: it is stopped with a savepoint, or cancelled, or its driver is lost for good. The next leg starts from the
savepoint or from the newest retained checkpoint. The last leg runs to its end.
"""

from __future__ import annotations

import random
from typing import Final

from headgate.elements import SavepointFormat
from headgate.testing.sim.job import J, Leg, LegEnd
from headgate.testing.sim.settings import random_settings

_FORKS: Final = 100
_LEG_MS: Final = ((30.0, 200.0), (200.0, 500.0), (200.0, 500.0), (200.0, 1_500.0))
_RETAINED: Final = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}
_MUCH_IN_FLIGHT: Final = {
    "execution.checkpointing.interval": 20,
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.unaligned.enabled": True,
    "execution.checkpointing.aligned-checkpoint-timeout": 0,
    "execution.checkpointing.max-concurrent-checkpoints": 1,
    "headgate.batch.records": 2,
    "headgate.network.credit.batches": 8,
}
"""Settings of a leg whose checkpoints hold many records in flight."""


def journey_of(job: J, rng: random.Random) -> tuple[Leg[J], ...]:
    """Return the legs of a random journey; most journeys have one leg."""
    if rng.random() < 0.6:
        return (_leg(rng, job),)
    settings = {"pipeline.max-parallelism": rng.choice((4, 5, 16, 128)), **_RETAINED}
    current = job.with_settings(0, {**job.settings, **settings})
    legs: list[Leg[J]] = []
    for number in range(1, rng.choice((2, 2, 3))):
        after_ms = rng.uniform(*rng.choice(_LEG_MS))
        end = _random_end(rng, job)
        if end in (LegEnd.CANCELLED, LegEnd.LOST) and rng.random() < 0.6:
            current = current.with_settings(current.leg, {**current.settings, **_MUCH_IN_FLIGHT})
        legs.append(_leg(rng, current, end, after_ms))
        next_settings = {**random_settings(rng), **settings, **_claim(rng)}
        current = current.rescaled(rng).with_settings(number, next_settings)
    return (*legs, _leg(rng, current))


def _leg(rng: random.Random, job: J, end: LegEnd = LegEnd.RUNS_OUT, after_ms: float = 0.0) -> Leg[J]:
    times = tuple(rng.uniform(30.0, 1_000.0) for _ in range(rng.choice((0, 0, 0, 1, 2))))
    return Leg(job, end, after_ms, rng.choice(list(SavepointFormat)), times)


def _claim(rng: random.Random) -> dict[str, object]:
    return {"execution.state-recovery.claim-mode": rng.choice(("CLAIM", "NO_CLAIM"))}


def _random_end(rng: random.Random, job: J) -> LegEnd:
    ends = [LegEnd.CANCELLED, LegEnd.LOST, LegEnd.STOPPED, LegEnd.STOPPED, LegEnd.DRAINED]
    return rng.choice(ends if job.may_drain else ends[:-1])


def fork_of(rng: random.Random, job: J) -> Leg[J]:
    """Return a job that starts from a savepoint of another job, which did not end with it."""
    kept = {key: job.settings[key] for key in ("pipeline.max-parallelism",) if key in job.settings}
    return Leg(job.rescaled(rng).with_settings(job.leg + _FORKS, {**random_settings(rng), **kept}))
