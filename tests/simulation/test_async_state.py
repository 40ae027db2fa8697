"""Simulated jobs whose counts by key are kept by coroutines that await between reading and writing, under faults."""

from __future__ import annotations

import asyncio
import itertools
import re
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final, final

import pytest

from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.async_keyed import AsyncKeyedFactory, AsyncKeyedOperator
from headgate.operators.base import OperatorFactory
from headgate.operators.keyed_process import KeyedProcessFactory
from headgate.operators.pending import PendingInput
from headgate.testing.sim.external import system
from tests.simulation.own_jobs import jobs
from tests.simulation.own_jobs.run import job_of, run
from tests.simulation.own_jobs.user_code import CountInValue, Record

SEEDS: Final = 12
SEEDS_MAX: Final = 30
BUSY: Final = {"execution.checkpointing.interval": 20}


@final
class AwaitedCount(KeyedProcessFunction):
    """Counts the records of a key as `CountInValue` does, but awaits something between reading and writing."""

    def __init__(self, count: CountInValue) -> None:
        self._inner = count

    def open(self, runtime_context: RuntimeContext) -> None:
        self._inner.open(runtime_context)

    async def process_element(  # type: ignore[override]
        self, value: Record, ctx: KeyedProcessFunction.Context
    ) -> AsyncIterator[Record]:
        inner = self._inner
        count = (await inner._count.async_value() or 0) + 1
        await asyncio.sleep(zlib.crc32(repr(value).encode()) % 19 / 1000)
        system(inner._outside).pass_through(inner._name)
        await inner._count.async_update(count)
        yield value[0], (*value[1], (inner._stage, ctx.get_current_key(), count))


def awaited(function: Any) -> OperatorFactory:
    """Make the operator of a function, which is an asynchronous one for a count in a value."""
    is_counted = type(function) is CountInValue
    return AsyncKeyedFactory(AwaitedCount(function)) if is_counted else KeyedProcessFactory(function)


@pytest.fixture(autouse=True)
def _awaited_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "KeyedProcessFactory", awaited)


def seeds() -> Iterator[int]:
    """Yield the seeds of jobs that count in values."""
    return (seed for seed in itertools.count(1) if re.search("valuex", job_of(seed)))


def test_each_record_counts_once_and_in_order_under_faults() -> None:
    for seed in itertools.islice(seeds(), SEEDS):
        report = run(seed, settings=BUSY)
        assert report.passed, (seed, report.violations)


def all_at_once(patch: pytest.MonkeyPatch) -> None:
    """A record does not wait for the one before it of its key."""
    enqueue = AsyncKeyedOperator._enqueue

    def overtake(self: AsyncKeyedOperator, pending: PendingInput) -> None:
        enqueue(self, pending)
        if self._queues[pending.key][0] is not pending:
            self._to_begin.append(pending)

    patch.setattr(AsyncKeyedOperator, "_enqueue", overtake)


def forgotten_inputs(patch: pytest.MonkeyPatch) -> None:
    """A snapshot lacks the inputs of calls that are under way."""
    patch.setattr(AsyncKeyedOperator, "in_order", lambda self: [])


@pytest.mark.parametrize("plant", [all_at_once, forgotten_inputs])
def test_a_planted_fault_is_seen(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    reports = (run(seed, settings=BUSY, often=("slot crash",) * 3) for seed in itertools.islice(seeds(), SEEDS_MAX))
    assert not all(report.passed for report in reports)
