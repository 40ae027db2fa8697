"""Random settings of a job; it must keep its promises under all of them."""

from __future__ import annotations

import random
from typing import Final

TOLERANT: Final = 5
"""Number of checkpoints that may fail in a tolerant job."""


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
