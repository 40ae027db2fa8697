"""The row of the benchmark about batch jobs: the flights job, next to the same function by hand in Spark."""

from __future__ import annotations

from statistics import median

from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.trial import TrialFailedError, run_module

ROWS = 10_000_000
RUN_S_MAX = 1_800.0


def flights_in_batch(target: str, effort: Effort, say: Say) -> list[Figure]:
    """Measure (z): ten million flights in BATCH mode, next to `groupBy().applyInArrow`."""
    if target != "spark":
        say("left out (z): batch jobs are measured on Spark")
        return []
    say(f"flights as a batch job, and by hand, {effort.peer_rounds} rounds of each")
    found = run_module("bench.batch", {"rows": ROWS, "rounds": effort.peer_rounds}, RUN_S_MAX)
    ours, by_hand = found["seconds"]["headgate"], found["seconds"]["applyInArrow"]
    if len(set(found["alerts"].values())) > 1:
        raise TrialFailedError(f"the two do not find the same alerts: {found['alerts']}")
    ratios = tuple(other / own for own, other in zip(ours, by_hand, strict=True))
    return [
        Figure(
            row="z",
            what="the flights job in BATCH mode over 10 M rows, two tasks",
            value=median(ROWS / each for each in ours),
            unit="records/s",
            of_runs=tuple(ROWS / each for each in ours),
            note=f"{median(ours):.1f} s; by hand {median(by_hand):.1f} s",
        ),
        Figure(
            row="z",
            what="  to the same function by hand, groupBy().applyInArrow",
            value=median(ratios),
            unit="ratio",
            target=Target(least=0.8),
            of_runs=ratios,
        ),
    ]


MEASURES = {"z": flights_in_batch}
