"""What must come out of a simulated job, whatever the interleaving, and the form in which outputs are compared."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from tests.simulation.own_jobs.jobs import COUNTERS, NUMBERERS, TWO_INPUTS, JobSpec, SimStageSpec
from tests.simulation.own_jobs.two_inputs import RULE_WEIGHT
from tests.simulation.own_jobs.user_code import CLEARED_AT, KeyOf, Origin, Record, copies_of, keeps


@final
@dataclass(frozen=True)
class ExpectedOutput:
    """What a job emits, in the form that all correct runs share."""

    origins: Counter[Origin]
    counts: dict[int, Counter[Any]]
    """By keyed stage: how often each key came with each count. By numbering stage: see `_numbered`."""


def expected_output(spec: JobSpec) -> ExpectedOutput:
    """Return what a job emits when each record changes state exactly once."""
    origins: Counter[Origin] = Counter(
        (source, split, position, 0)
        for source, each in enumerate(spec.sources)
        for split, records in enumerate(each.splits)
        for position in range(records)
    )
    counts: dict[int, Counter[Any]] = {}
    for index, stage in enumerate(spec.stages):
        if stage.kind == "filter":
            origins = Counter({origin: n for origin, n in origins.items() if keeps(origin)})
        elif stage.kind == "flat_map":
            origins = Counter({copy: n for origin, n in origins.items() for copy in copies_of(origin)})
        elif stage.kind == "broadcast":
            origins = Counter({origin: n * stage.parallelism for origin, n in origins.items()})
        elif stage.kind in COUNTERS + TWO_INPUTS:
            counts[index] = _counted(stage, KeyOf(index, stage.keys), origins)
        elif stage.kind in NUMBERERS:
            counts[index] = Counter({"numbers": origins.total(), "last numbers": origins.total()})
    return ExpectedOutput(origins, counts)


def _counted(stage: SimStageSpec, key_of: KeyOf, origins: Counter[Origin]) -> Counter[tuple[Any, int]]:
    limit = CLEARED_AT if stage.kind == "clearing" else sys.maxsize
    ruled = 0 if stage.rules is None else RULE_WEIGHT * sum(stage.rules.splits)
    totals: Counter[Any] = Counter()
    for origin, n in origins.items():
        totals[key_of((origin, ()))] += n
    return Counter((key, n % limit + 1 + ruled) for key, total in totals.items() for n in range(total))


def output_of(spec: JobSpec, records: Iterable[Record]) -> ExpectedOutput:
    """Return the output that was found, in the form that all correct runs share."""
    kinds = COUNTERS + NUMBERERS + TWO_INPUTS
    counting = {index: stage.kind for index, stage in enumerate(spec.stages) if stage.kind in kinds}
    output = ExpectedOutput(Counter(), {index: Counter() for index in counting})
    for origin, counts in records:
        output.origins[origin] += 1
        for stage, key, count in counts:
            output.counts[stage][key, count] += 1
    for index, kind in counting.items():
        if kind in NUMBERERS:
            output.counts[index] = _numbered(output.counts[index])
    return output


def _numbered(counts: Counter[tuple[int, int]]) -> Counter[str]:
    """Return how many numbers there are, and the sum of the last ones of each subtask.

    Both are the number of records if, and only if, no subtask has left a number out or given it twice.
    """
    last: dict[int, int] = {}
    for subtask, number in counts:
        last[subtask] = max(number, last.get(subtask, 0))
    return Counter({"numbers": len(counts), "last numbers": sum(last.values())})


def keeps_order(spec: JobSpec) -> int | None:
    """Return the first keyed stage, if records of a split and key reach it in order; None if they need not."""
    for index, stage in enumerate(spec.stages):
        if stage.kind in ("value", "list", "awaiting"):
            return index if all(before.parallelism == 1 for before in spec.stages[:index]) else None
        if stage.kind in COUNTERS:
            return None
    return None
