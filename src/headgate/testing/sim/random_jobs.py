"""Random jobs of a simulation: settings under which every job keeps its promises, and journeys of several jobs.

The jobs of a journey run one after the other, each from the state that the previous job has left. Each of them, a leg,
runs the same program, at another parallelism and with other settings. It is ended from outside at a random time: it is
stopped with a savepoint, or cancelled, or its driver is lost for good. The next leg starts from the savepoint or from
the newest retained checkpoint. The last leg runs to its end.
"""

from __future__ import annotations

import random
from typing import Final

from headgate.elements import SavepointFormat
from headgate.testing.sim.job import J, Leg, LegEnd

TOLERANT: Final = 5
"""Number of checkpoints that may fail in a tolerant job."""

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


def random_settings(rng: random.Random) -> dict[str, object]:
    """Draw the settings of a job."""
    settings = _random_checkpoints(rng)
    # Drawn from a separate generator, so that older seeds with aligned barriers keep their meaning.
    return {
        **settings,
        **_random_mode(random.Random(repr(settings))),
        **_random_debloating(random.Random(f"what waits in {settings!r}")),
    }


def _random_debloating(rng: random.Random) -> dict[str, object]:
    """Draw the limits of waiting records."""
    if rng.random() < 0.65:
        return {}
    return {
        "taskmanager.network.memory.buffer-debloat.target": rng.choice((1, 10, 100)),
        "taskmanager.network.memory.buffer-debloat.period": rng.choice((1, 20)),
        "taskmanager.network.memory.buffer-debloat.samples": rng.choice((1, 5)),
        "taskmanager.network.memory.buffer-debloat.threshold-percentages": rng.choice((0, 25)),
    }


def _random_mode(rng: random.Random) -> dict[str, object]:
    """Draw how barriers are aligned."""
    kind = rng.random()
    if kind < 0.45:
        return {}
    if kind < 0.6:
        return {"execution.checkpointing.mode": "AT_LEAST_ONCE"}
    return {
        "execution.checkpointing.unaligned.enabled": True,
        "execution.checkpointing.aligned-checkpoint-timeout": rng.choice((0, 0, 2, 10, 50)),
        "execution.checkpointing.max-concurrent-checkpoints": 1,
    }


def _random_checkpoints(rng: random.Random) -> dict[str, object]:
    return {
        **_random_storage(rng),
        "execution.checkpointing.interval": rng.choice((20, 50, 100, 200)),
        "execution.checkpointing.timeout": rng.choice((400, 800, 2_000)),
        "execution.checkpointing.min-pause": rng.choice((0, 0, 30)),
        "execution.checkpointing.max-concurrent-checkpoints": rng.choice((1, 1, 2, 3)),
        "execution.checkpointing.tolerable-failed-checkpoints": rng.choice((0, 1, TOLERANT)),
        "execution.checkpointing.num-retained": rng.choice((1, 2, 3)),
        "execution.checkpointing.data-inline-threshold": rng.choice((0, 0, 60, 20_000)),
        "execution.buffer-timeout.interval": rng.choice((0, 5, 100)),
        "pipeline.auto-watermark-interval": 10,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 1_000_000,
        "restart-strategy.fixed-delay.delay": rng.choice((0, 10, 100)),
        "headgate.slot.teardown-timeout": 200,
        "headgate.slot.start-timeout": 3_000,
        "headgate.batch.records": rng.choice((1, 2, 4, 16)),
        "headgate.network.credit.batches": rng.choice((1, 2, 4)),
    }


def _random_storage(rng: random.Random) -> dict[str, object]:
    """Draw how state is written to storage and restored."""
    changelog = rng.random() < 0.25
    return {
        "execution.checkpointing.incremental": rng.random() < 0.4,
        "state.changelog.enabled": changelog,
        **({"headgate.changelog.cut-interval": rng.choice((10, 50))} if changelog else {}),
        **({"state.changelog.periodic-materialize.interval": rng.choice((50, 300))} if changelog else {}),
        "execution.checkpointing.local-backup.enabled": rng.random() < 0.2,
        "execution.checkpointing.storage": rng.choice(("filesystem",) * 6 + ("jobmanager",)),
    }


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
