"""S32: timers written by one backend are restored by another, and at another parallelism, and all of them fire."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import WatermarkStrategy
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from tests.scenarios import ledger
from tests.scenarios.runs import BACKENDS, Runs, on_every_backend

COUNT: Final = 900
FAR_MS: Final = 10**6
"""Beyond the time that the records reach, so that timers fire at the end of the input."""

WAYS: Final = [name for name in BACKENDS if name.startswith("hashmap") or "full" in name]
"""Those whose checkpoints any backend reads."""


class Reminding(KeyedProcessFunction):
    """Sets two timers for each record, and takes one of them back. Yields `(key, time)` for those that fire."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(FAR_MS - value)
        ctx.timer_service().register_event_time_timer(2 * FAR_MS + value)
        ctx.timer_service().delete_event_time_timer(2 * FAR_MS + value)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


def remind(env: StreamExecutionEnvironment, burst: int) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    numbers = ledger.numbers(env, COUNT, burst).assign_timestamps_and_watermarks(strategy).uid("times")
    ledger.seen_of(numbers.key_by(ledger.key_of).process(Reminding()).uid("reminding"))


def check_moved(runs: Runs, before: dict[str, str], after: dict[str, str]) -> None:
    env = runs.environment(2, **before)
    remind(env, ledger.BURST)
    runs.stop(env)
    assert ledger.SEEN == []
    env = runs.environment(3, **after)
    remind(env, COUNT)
    runs.finish(env)
    assert sorted(ledger.SEEN) == sorted((ledger.key_of(value), FAR_MS - value) for value in range(COUNT))


@pytest.mark.slow
@on_every_backend
def test_timers_go_on_at_another_parallelism(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_moved(Runs(tmp_path, monkeypatch), backend, backend)


@pytest.mark.parametrize(("before", "after"), list(permutations(WAYS, 2)))
@pytest.mark.slow
def test_timers_of_one_backend_fire_on_another(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_moved(Runs(tmp_path, monkeypatch), BACKENDS[before], BACKENDS[after])
