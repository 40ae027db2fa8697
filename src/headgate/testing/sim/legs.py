"""The legs of a journey: jobs that go on, one after the other, from what the one before has left.

Each leg runs the same program, at another parallelism and with other settings. It is ended from outside at a random
time: it is stopped with a savepoint, or cancelled, or its driver is lost for good; the next one starts from the
savepoint or from the newest retained checkpoint. The last leg runs to its end.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, final

from headgate.elements import SavepointFormat
from headgate.testing.sim.jobs import JobSpec, SideSpec, SimStageSpec, random_settings, with_patience
from headgate.testing.sim.user_code import SourceSpec

_WIDTH_MAX: Final = 4
_FORKS: Final = 100
_LEG_MS: Final = ((30.0, 200.0), (200.0, 500.0), (200.0, 500.0), (200.0, 1_500.0))


@final
class LegEnd(Enum):
    """How a leg is ended."""

    RUNS_OUT = "runs to its end"
    STOPPED = "is stopped with a savepoint"
    DRAINED = "is drained and stopped with a savepoint"
    CANCELLED = "is cancelled"
    LOST = "loses its driver for good"


@final
@dataclass(frozen=True, slots=True)
class Leg:
    """One job of a journey. `after_ms` is when it is ended, from its start on."""

    spec: JobSpec
    end: LegEnd = LegEnd.RUNS_OUT
    after_ms: float = 0.0
    savepoint_format: SavepointFormat = SavepointFormat.CANONICAL
    savepoints_after_ms: tuple[float, ...] = ()
    """When savepoints are asked for, from its start on."""

    def describe(self) -> str:
        """Return the leg in one line."""
        savepoints = "".join(f"; savepoint after {after_ms:.0f} ms" for after_ms in self.savepoints_after_ms)
        how = "" if self.end is LegEnd.RUNS_OUT else f"; after {self.after_ms:.0f} ms it {self.end.value}"
        return f"{self.spec.describe()}{savepoints}{how}"


def journey_of(spec: JobSpec) -> tuple[Leg, ...]:
    """Return the legs that the program makes; most programs make one only.

    Drawn apart from all else, so that seeds whose jobs have one leg mean what they meant without the others.
    """
    rng = random.Random(f"legs of {spec!r}")
    spec = with_patience(spec)
    if rng.random() < 0.6:
        return (Leg(spec, **_savepoints(rng)),)
    settings = {"pipeline.max-parallelism": rng.choice((4, 5, 16, 128)), **_RETAINED}
    current = replace(spec, settings={**spec.settings, **settings})
    legs: list[Leg] = []
    for number in range(1, rng.choice((2, 2, 3))):
        after_ms = rng.uniform(*rng.choice(_LEG_MS))
        end = _random_end(rng, spec)
        if end in (LegEnd.CANCELLED, LegEnd.LOST) and rng.random() < 0.6:
            current = replace(current, settings={**current.settings, **_UNALIGNED})
        legs.append(Leg(current, end, after_ms, **_savepoints(rng)))
        next_settings = {**random_settings(rng), **settings, **_claim(rng)}
        current = with_patience(replace(_rescaled(rng, current), leg=number, settings=next_settings))
    return (*legs, Leg(current, **_savepoints(rng)))


_RETAINED: Final = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}


_UNALIGNED: Final = {
    "execution.checkpointing.interval": 20,
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.unaligned.enabled": True,
    "execution.checkpointing.aligned-checkpoint-timeout": 0,
    "execution.checkpointing.max-concurrent-checkpoints": 1,
    "headgate.batch.records": 2,
    "headgate.network.credit.batches": 8,
}
"""So that legs start with much in flight."""


def _claim(rng: random.Random) -> dict[str, Any]:
    return {"execution.state-recovery.claim-mode": rng.choice(("CLAIM", "NO_CLAIM"))}


def fork_of(rng: random.Random, spec: JobSpec) -> Leg:
    """Return a job that goes on from a savepoint on the way of another, which went on as well."""
    kept = {key: spec.settings[key] for key in ("pipeline.max-parallelism",) if key in spec.settings}
    settings = {**random_settings(rng), **kept}
    return Leg(with_patience(replace(_rescaled(rng, spec), leg=spec.leg + _FORKS, settings=settings)))


def _savepoints(rng: random.Random) -> dict[str, Any]:
    times = tuple(rng.uniform(30.0, 1_000.0) for _ in range(rng.choice((0, 0, 0, 1, 2))))
    return {"savepoint_format": rng.choice(list(SavepointFormat)), "savepoints_after_ms": times}


def _random_end(rng: random.Random, spec: JobSpec) -> LegEnd:
    """Draw how a leg ends. Records held until all input has ended must not go before it has."""
    ends = [LegEnd.CANCELLED, LegEnd.LOST, LegEnd.STOPPED, LegEnd.STOPPED, LegEnd.DRAINED]
    return rng.choice(ends[:-1] if any(stage.kind == "ruled" for stage in spec.stages) else ends)


def _rescaled(rng: random.Random, spec: JobSpec) -> JobSpec:
    """Return the job at another parallelism, or the same: operators of one parallelism keep together, or not.

    What is broadcast to a stage comes out once for each of its subtasks, so that such stages stay as they are.
    """
    sizes = list(range(1, _WIDTH_MAX + 1))
    how = rng.random()
    if how > 0.3:
        rng.shuffle(sizes)
    keeps_together = how < 0.65

    def scaled(parallelism: int) -> int:
        return sizes[parallelism - 1] if keeps_together else rng.randint(1, _WIDTH_MAX)

    def source(each: SourceSpec) -> SourceSpec:
        return replace(each, parallelism=scaled(each.parallelism))

    def stage(each: SimStageSpec) -> SimStageSpec:
        return each if each.kind == "broadcast" else replace(each, parallelism=scaled(each.parallelism))

    def side(each: SideSpec | None) -> SideSpec | None:
        return None if each is None else replace(each, parallelism=scaled(each.parallelism))

    return replace(
        spec,
        sources=tuple(map(source, spec.sources)),
        stages=tuple(map(stage, spec.stages)),
        sink_parallelism=scaled(spec.sink_parallelism),
        side=side(spec.side),
    )
