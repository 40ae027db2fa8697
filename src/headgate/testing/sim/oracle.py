"""The oracle: compares what a run has left behind with what the same job leaves behind when nothing goes wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

from headgate.checkpoint import paths
from headgate.testing.sim.expected import expected_output, keeps_order, output_of
from headgate.testing.sim.external import External
from headgate.testing.sim.jobs import JobSpec
from headgate.testing.sim.storage import SimStore
from headgate.testing.sim.user_code import Origin, Record

Differ = Callable[[Counter[Any], Counter[Any]], bool]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SimEnding:
    """What is left when a job is over. `collected` is what reached the programs; at most `programs` ran in a leg."""

    spec: JobSpec
    specs: tuple[JobSpec, ...]
    """The job on each leg of its journey: `spec` on the first."""
    outside: External
    store: SimStore
    collected: list[Record]
    programs: int
    legs: int
    is_exact: bool
    """Whether each record counts exactly once: everywhere, or because nothing was restored."""
    is_tidy: bool
    """Whether nothing happened that may leave files behind."""


def judge_finished(ending: SimEnding) -> Iterator[str]:
    """Yield what is wrong with the end of a job that ran to its end, in words."""
    spec, outside = ending.spec, ending.outside
    records = outside.records_of("sink")
    differ = Counter.__ne__ if ending.is_exact else _lacks_some
    yield from _compare("output", spec, records, differ)
    if ending.is_exact:
        yield from _out_of_order(ending.specs, records)
    if spec.side is not None and spec.side.kind == "sink":
        yield from _compare("side output", spec.at_side(), outside.records_of("side"), differ)
    elif spec.side is not None:
        yield from _compare("collected output", spec.at_side(), ending.collected, _collected_differ(ending))
    for name, transaction in outside.pending.items():
        if (transaction.job_id, transaction.attempt) == outside.newest:
            yield f"transaction {name} of the last attempt was never committed"
    left = [path for path in ending.store.memory.files if path != paths.RESULT]
    if left and ending.is_tidy:
        yield f"files are left behind: {', '.join(sorted(left)[:5])}"


def judge_cancelled(ending: SimEnding) -> Iterator[str]:
    """Yield what is wrong with the end of a job that was cancelled: there may be less output, but not more."""
    if not ending.is_exact:
        return
    yield from _compare("output", ending.spec, ending.outside.records_of("sink"), _has_surplus)
    if ending.spec.side is not None and (ending.spec.side.kind == "sink" or ending.legs == 1):
        side = [*ending.outside.records_of("side"), *ending.collected]
        yield from _compare("side output", ending.spec.at_side(), side, _has_surplus)


def judge_fork(spec: JobSpec, outside: External) -> Iterator[str]:
    """Yield what is wrong with what is outside, when a job went on from a savepoint that another has left behind."""
    yield from _compare("output", spec, outside.records_of("sink"), Counter.__ne__)
    if spec.side is not None and spec.side.kind == "sink":
        yield from _compare("side output", spec.at_side(), outside.records_of("side"), Counter.__ne__)
    if outside.pending:
        yield f"transactions were never committed: {', '.join(sorted(outside.pending))}"


def _collected_differ(ending: SimEnding) -> Differ:
    """Return the comparison for what reached the program: what is in flight to one that crashes is gone with it, and
    the program of the next leg gets once more what the state that it starts from holds.
    """
    if ending.legs > 1 or not ending.is_exact:
        return _lacks_some if ending.programs == 1 else _never
    return Counter.__ne__ if ending.programs == 1 else _has_surplus


def _compare(what: str, spec: JobSpec, records: list[Record], differ: Differ) -> Iterator[str]:
    found, expected = output_of(spec, records), expected_output(spec)
    if differ(found.origins, expected.origins):
        yield f"{what} differs: {_difference(found.origins, expected.origins)}"
    for stage, counts in expected.counts.items():
        if differ is _lacks_some and spec.stages[stage].kind == "ruled":
            continue  # rules that were seen twice are in all counts
        if differ(found.counts[stage], counts):
            yield f"{what}: counts of stage {stage} differ: {_difference(found.counts[stage], counts)}"


def _has_surplus(found: Counter[Any], expected: Counter[Any]) -> bool:
    return not found <= expected


def _never(found: Counter[Any], expected: Counter[Any]) -> bool:
    return False


def _lacks_some(found: Counter[Any], expected: Counter[Any]) -> bool:
    return not expected <= found


def _difference(found: Counter[Any], expected: Counter[Any]) -> str:
    missing, surplus = expected - found, found - expected
    return f"{missing.total()} missing {_some(missing)}, {surplus.total()} too many {_some(surplus)}"


def _some(counter: Counter[Any]) -> str:
    return str(sorted(counter, key=repr)[:3])


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
