"""The oracle: compares what a run has left behind with what the same job leaves behind when nothing goes wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from headgate.checkpoint import paths
from headgate.testing.sim.external import External
from headgate.testing.sim.jobs import JobSpec, Origin, Record, expected_output, keeps_order, output_of
from headgate.testing.sim.storage import SimStore


def judge(spec: JobSpec, outside: External, store: SimStore, *, may_leave_files: bool) -> Iterator[str]:
    """Yield what is wrong with the end of a job, in words."""
    records: list[Record] = [record for name in sorted(outside.final) for record in outside.final[name]]
    found, expected = output_of(spec, records), expected_output(spec)
    if found.origins != expected.origins:
        yield f"output differs: {_difference(found.origins, expected.origins)}"
    for stage, counts in expected.counts.items():
        if found.counts[stage] != counts:
            yield f"counts of stage {stage} differ: {_difference(found.counts[stage], counts)}"
    yield from _out_of_order(spec, records)
    for name, transaction in outside.pending.items():
        if transaction.attempt == outside.newest_attempt:
            yield f"transaction {name} of the last attempt was never committed"
    left = [path for path in store.memory.files if path != paths.RESULT]
    if left and not may_leave_files:
        yield f"files are left behind: {', '.join(sorted(left)[:5])}"


def judge_part(spec: JobSpec, outside: External) -> Iterator[str]:
    """Yield what is wrong with the output of a job that was cancelled: there may be less of it, but not more."""
    records: list[Record] = [record for name in sorted(outside.final) for record in outside.final[name]]
    found, expected = output_of(spec, records), expected_output(spec)
    if found.origins - expected.origins:
        yield f"output of a cancelled job differs: {_difference(found.origins, expected.origins)}"
    for stage, counts in expected.counts.items():
        if found.counts[stage] - counts:
            yield f"counts of stage {stage} of a cancelled job differ: {_difference(found.counts[stage], counts)}"


def _difference(found: Counter[Any], expected: Counter[Any]) -> str:
    missing, surplus = expected - found, found - expected
    return f"{missing.total()} missing {_some(missing)}, {surplus.total()} too many {_some(surplus)}"


def _some(counter: Counter[Any]) -> str:
    return str(sorted(counter, key=repr)[:3])


def _out_of_order(spec: JobSpec, records: list[Record]) -> Iterator[str]:
    stage = keeps_order(spec)
    if stage is None:
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
