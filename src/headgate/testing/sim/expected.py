"""What must come out of a simulated job, whatever the interleaving, and the form in which outputs are compared."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from headgate.testing.sim.jobs import COUNTERS, JobSpec, StageSpec
from headgate.testing.sim.user_code import CLEARED_AT, KeyOf, Origin, Record, copies_of, keeps


@final
@dataclass(frozen=True)
class Output:
    """What a job puts out, in the form that all correct runs share."""

    origins: Counter[Origin]
    counts: dict[int, Counter[tuple[Any, int]]]
    """By keyed stage: how often each key came with each count."""


def expected_output(spec: JobSpec) -> Output:
    """Return what a job puts out when each record changes state exactly once."""
    origins: Counter[Origin] = Counter(
        (source, split, position, 0)
        for source, each in enumerate(spec.sources)
        for split, records in enumerate(each.splits)
        for position in range(records)
    )
    counts: dict[int, Counter[tuple[Any, int]]] = {}
    for index, stage in enumerate(spec.stages):
        if stage.kind == "filter":
            origins = Counter({origin: n for origin, n in origins.items() if keeps(origin)})
        elif stage.kind == "flat_map":
            origins = Counter({copy: n for origin, n in origins.items() for copy in copies_of(origin)})
        elif stage.kind == "broadcast":
            origins = Counter({origin: n * stage.parallelism for origin, n in origins.items()})
        elif stage.kind in COUNTERS:
            counts[index] = _counted(stage, KeyOf(index, stage.keys), origins)
    return Output(origins, counts)


def _counted(stage: StageSpec, key_of: KeyOf, origins: Counter[Origin]) -> Counter[tuple[Any, int]]:
    limit = CLEARED_AT if stage.kind == "clearing" else sys.maxsize
    totals: Counter[Any] = Counter()
    for origin, n in origins.items():
        totals[key_of((origin, ()))] += n
    return Counter((key, n % limit + 1) for key, total in totals.items() for n in range(total))


def output_of(spec: JobSpec, records: Iterable[Record]) -> Output:
    """Return the output that was found, in the form that all correct runs share."""
    keyed = [index for index, stage in enumerate(spec.stages) if stage.kind in COUNTERS]
    output = Output(Counter(), {index: Counter() for index in keyed})
    for origin, counts in records:
        output.origins[origin] += 1
        for stage, key, count in counts:
            output.counts[stage][key, count] += 1
    return output


def keeps_order(spec: JobSpec) -> int | None:
    """Return the first keyed stage, if records of a split and key reach it in order; None if they need not."""
    for index, stage in enumerate(spec.stages):
        if stage.kind in ("value", "list"):
            return index if all(before.parallelism == 1 for before in spec.stages[:index]) else None
        if stage.kind in COUNTERS:
            return None
    return None
