"""Rounds in which trials alternate, so that a busy machine hits all of them, and figures of what they found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import final

from bench.effort import Effort, Say
from bench.figures import Figure, Target
from bench.trial import Result, Trial, run_trial


def bare(program: str, effort: Effort) -> Trial:
    """Return the trial of a bare loop."""
    return Trial(program=program, target="bare", seconds=effort.bare_s)


def steady(program: str, target: str, effort: Effort, slots: int = 1, checkpoint_ms: int | None = 1_000) -> Trial:
    """Return the trial of a job in its steady state."""
    return Trial(
        program=program,
        target=target,
        seconds=effort.steady_s + effort.warm_up_s,
        warm_up_s=effort.warm_up_s,
        slots=slots,
        checkpoint_ms=checkpoint_ms,
    )


@final
@dataclass(slots=True)
class Rounds:
    """Results of trials by name, one of each round. `say` is told what is measured next."""

    say: Say
    results: dict[str, list[Result]] = field(default_factory=dict)

    def run(self, count: int, trials: Mapping[str, Trial]) -> None:
        """Run so many rounds: each trial once in each. Blocks. Raises `TrialFailedError`."""
        for number in range(count if trials else 0):
            for name, trial in trials.items():
                self.say(f"round {number + 1} of {count}: {name}")
                self.results.setdefault(name, []).append(run_trial(trial))

    def rate(
        self, row: str, what: str, name: str, per_output: float = 1.0, unit: str = "records/s"
    ) -> Iterator[Figure]:
        """Yield the median rate of a trial, if it was run; `per_output` records belong to each of its results."""
        results = self.results.get(name)
        if results is not None:
            rates = tuple(result["rate"] * per_output for result in results)
            cpu_ns = median(result["cpu_ns"] for result in results) / per_output
            note = f"{cpu_ns:.0f} ns of CPU each"
            yield Figure(row=row, what=what, value=median(rates), unit=unit, of_runs=rates, note=note)

    def ratio(
        self, row: str, what: str, names: tuple[str, str], target: Target | None = None, slots: int = 1
    ) -> Iterator[Figure]:
        """Yield the median of the ratios within each round, which noise that comes and goes touches least.

        The note gives the ratio by processor time: what it would be if all slots had a core of their own.
        """
        if not all(name in self.results for name in names):
            return
        pairs = list(zip(*[self.results[name] for name in names], strict=True))
        ratios = tuple(one["rate"] / other["rate"] for one, other in pairs)
        by_cpu = median(slots * other["cpu_ns"] / one["cpu_ns"] for one, other in pairs)
        yield Figure(
            row=row,
            what=what,
            value=median(ratios),
            unit="ratio",
            target=target,
            of_runs=ratios,
            note=f"{by_cpu:.2f} by CPU time",
        )
