"""S31: one fault in each stage of a keyed, checkpointed job with timers, and all of them in one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Types, WatermarkStrategy
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from headgate.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.datastream.state import ValueStateDescriptor
from headgate.functions.context import Context
from tests.scenarios.ledger import KEYS, key_of
from tests.scenarios.runs import Runs, on_every_backend

COUNT: Final = 300
HALF: Final = COUNT // 2
DELAY_MS: Final = 100
STAGES: Final = ("source", "map", "snapshot", "completed", "process", "timer", "sink")
PLANNED: set[str] = set()
"""The stages that fail still, once each."""


def strike(stage: str) -> None:
    if stage in PLANNED:
        PLANNED.remove(stage)
        raise ValueError(f"planned fault: {stage}")


def generate(index: int) -> int:
    if index >= HALF:
        strike("source")
    return index


class Passing(MapFunction, CheckpointedFunction, CheckpointListener):
    """Passes records on, and fails wherever it can."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        if context.is_restored():
            strike("initialize")

    def open(self, runtime_context: RuntimeContext) -> None:
        if runtime_context.get_attempt_number() > 0:
            strike("open")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        if context.get_checkpoint_id() > 1:
            strike("snapshot")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        strike("completed")

    def close(self) -> None:
        strike("close")

    def map(self, value: int) -> int:
        if value >= HALF:
            strike("map")
        return value


class CountAndRemind(KeyedProcessFunction):
    """Yields `(key, count)`, and a while of event time later `(key, "due", time)`."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        if value >= HALF:
            strike("process")
        ctx.timer_service().register_event_time_timer(value + DELAY_MS)
        yield ctx.get_current_key(), self.count.value()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        strike("timer")
        yield ctx.get_current_key(), "due", timestamp


class Failing(SinkFunction):
    def invoke(self, value: Any, context: Context) -> None:
        if value[-1] == HALF // KEYS:
            strike("sink")


def reminded(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    numbers = env.from_source(DataGeneratorSource(generate, COUNT, 1500), strategy, "numbers")
    results = numbers.map(Passing()).key_by(key_of).process(CountAndRemind())
    results.add_sink(Failing())
    return results


EXPECTED: Final = Counter(
    [(key_of(value), value // KEYS + 1) for value in range(COUNT)]
    + [(key_of(value), "due", value + DELAY_MS) for value in range(COUNT)]
)


def check(runs: Runs, faults: set[str]) -> None:
    PLANNED.clear()
    PLANNED.update(faults)
    env = runs.environment(2, **{"pipeline.auto-watermark-interval": "10 ms"})
    assert Counter(reminded(env).execute_and_collect()) == EXPECTED
    assert set() == PLANNED


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.slow
def test_a_fault_in_any_stage_neither_loses_nor_repeats_a_record_or_a_timer(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(Runs(tmp_path, monkeypatch), {stage})


@pytest.mark.parametrize("stage", ["open", "initialize", "close"])
@pytest.mark.slow
def test_a_fault_while_a_job_restarts_does_neither(stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(Runs(tmp_path, monkeypatch), {"map", stage})


@on_every_backend
@pytest.mark.slow
def test_one_fault_after_the_other_in_all_stages_does_neither(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(Runs(tmp_path, monkeypatch, **backend), {*STAGES, "open", "initialize"})
