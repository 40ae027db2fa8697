"""The oracle: compares what a run has left behind with what the same job leaves behind when nothing goes wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from headgate.testing.sim.external import External
from headgate.testing.sim.job import SimEnding
from headgate.testing.sim.program import difference
from tests.simulation.own_jobs.expected import expected_output, keeps_order, output_of
from tests.simulation.own_jobs.jobs import JobSpec
from tests.simulation.own_jobs.user_code import Origin, Record

Differ = Callable[[Counter[Any], Counter[Any]], bool]


def judge_finished(ending: SimEnding[JobSpec]) -> Iterator[str]:
    """Yield what is wrong with the end of a job that ran to its end, in words."""
    spec, outside = ending.jobs[0], ending.outside
    records = outside.records_of("sink")
    differ = Counter.__ne__ if ending.is_exact else _lacks_some
    yield from _compare("output", spec, records, differ)
    if ending.is_exact:
        yield from _out_of_order(ending.jobs, records)
    if spec.side is not None and spec.side.kind == "sink":
        yield from _compare("side output", spec.at_side(), outside.records_of("side"), differ)
    elif spec.side is not None:
        yield from _compare("collected output", spec.at_side(), ending.collected, _collected_differ(ending))


def judge_cancelled(ending: SimEnding[JobSpec]) -> Iterator[str]:
    """Yield what is wrong with the end of a job that was cancelled: there may be less output, but not more."""
    if not ending.is_exact:
        return
    yield from _compare("output", ending.jobs[0], ending.outside.records_of("sink"), _has_surplus)
    if ending.jobs[0].side is not None and (ending.jobs[0].side.kind == "sink" or ending.legs == 1):
        side = [*ending.outside.records_of("side"), *ending.collected]
        yield from _compare("side output", ending.jobs[0].at_side(), side, _has_surplus)


def judge_fork(spec: JobSpec, outside: External) -> Iterator[str]:
    """Yield what is wrong with what is outside, when a job went on from a savepoint that another has left behind."""
    yield from _compare("output", spec, outside.records_of("sink"), Counter.__ne__)
    if spec.side is not None and spec.side.kind == "sink":
        yield from _compare("side output", spec.at_side(), outside.records_of("side"), Counter.__ne__)


def _collected_differ(ending: SimEnding[JobSpec]) -> Differ:
    """Return the comparison for what reached the program: what is in flight to one that crashes is gone with it, and
    the program of the next leg gets once more what the state that it starts from holds.
    """
    if ending.legs > 1 or not ending.is_exact:
        return _lacks_some if ending.drivers == 1 else _never
    return Counter.__ne__ if ending.drivers == 1 else _has_surplus


def _compare(what: str, spec: JobSpec, records: list[Record], differ: Differ) -> Iterator[str]:
    found, expected = output_of(spec, records), expected_output(spec)
    if differ(found.origins, expected.origins):
        yield f"{what} differs: {difference(expected.origins, found.origins)}"
    for stage, counts in expected.counts.items():
        if differ is _lacks_some and spec.stages[stage].kind == "ruled":
            continue  # rules that were seen twice are in all counts
        if differ(found.counts[stage], counts):
            yield f"{what}: counts of stage {stage} differ: {difference(counts, found.counts[stage])}"


def _has_surplus(found: Counter[Any], expected: Counter[Any]) -> bool:
    return not found <= expected


def _never(found: Counter[Any], expected: Counter[Any]) -> bool:
    return False


def _lacks_some(found: Counter[Any], expected: Counter[Any]) -> bool:
    return not expected <= found


def _out_of_order(specs: tuple[JobSpec, ...], records: list[Record]) -> Iterator[str]:
    kept = {keeps_order(spec) for spec in specs}
    stage = kept.pop()
    if stage is None or kept:
        return
    newest: dict[tuple[int, int, Any], tuple[int, Origin]] = {}
    of_stage = ((origin, entry) for origin, counts in records for entry in counts if entry[0] == stage)
    for origin, (_, key, count) in sorted(of_stage, key=lambda each: each[1][2]):
        group = (origin[0], origin[1], key)
        position = (origin[2], origin)
        if group in newest and position < newest[group]:
            yield f"key {key!r} of split {group[:2]} saw {origin} after {newest[group][1]} (count {count})"
            return
        newest[group] = position
