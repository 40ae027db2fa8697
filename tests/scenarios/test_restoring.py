"""S36, S37: which checkpoints stay, whose state they are, and programs that have changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Types
from headgate.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.functions import CheckpointListener
from headgate.datastream.state import MapStateDescriptor, ValueStateDescriptor
from tests.scenarios import ledger
from tests.scenarios.runs import Runs, wait_until

COUNT: Final = 1200
ONCE: Final = {"restart-strategy.type": "none"}


class Failing(MapFunction, CheckpointListener):
    """Fails once there is a checkpoint."""

    fails = False

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.fails = True

    def map(self, value: Any) -> Any:
        if self.fails:
            raise ValueError("planned")
        return value


def ended(env: StreamExecutionEnvironment, *, cancel: bool) -> Any:
    """Run until the job has failed, or has made checkpoints and is cancelled; return how it ended."""
    job: Any = env.submit()
    if cancel:
        wait_until(lambda: len(job.progress.checkpoints) > 1, job)
        job.cancel()
    return job.wait(120.0)


@pytest.mark.parametrize(
    ("retention", "of_cancelled", "of_failed"),
    [
        ("NO_EXTERNALIZED_CHECKPOINTS", 0, 1),
        ("DELETE_ON_CANCELLATION", 0, 1),
        ("RETAIN_ON_CANCELLATION", 1, 1),
    ],
)
def test_how_many_checkpoints_stay_of_a_job_that_was_cancelled_or_has_failed(
    retention: str, of_cancelled: int, of_failed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retained = {"execution.checkpointing.externalized-checkpoint-retention": retention}
    cancelled = Runs(tmp_path / "cancelled", monkeypatch, **retained, **ONCE)
    env = cancelled.environment(1)
    ledger.seen_of(ledger.written(env, COUNT))
    assert ended(env, cancel=True).status.word == "cancelled"
    assert len(cancelled.manifests()) == of_cancelled
    failed = Runs(tmp_path / "failed", monkeypatch, **retained, **ONCE)
    env = failed.environment(1)
    ledger.seen_of(ledger.written(env, COUNT).map(Failing()))
    assert ended(env, cancel=False).status.word == "failed"
    assert len(failed.manifests()) == of_failed


def test_a_job_that_has_finished_keeps_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path, monkeypatch)
    env = runs.environment(1)
    ledger.seen_of(ledger.written(env, COUNT, burst=COUNT))
    runs.finish(env)
    assert runs.manifests() == []


def test_state_without_an_operator_is_refused_with_its_uid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path, monkeypatch, **ONCE)
    env = runs.environment(2)
    ledger.seen_of(ledger.written(env, COUNT))
    runs.stop(env)
    env = runs.environment(2)
    ledger.seen_of(ledger.numbers(env, COUNT, COUNT).key_by(ledger.key_of).process(ledger.Ledger()).uid("another"))
    outcome = ended(env, cancel=False)
    assert "has state of operator 'KEYED PROCESS' (uid 'ledger')" in outcome.cause
    assert "Give the operator its uid back" in outcome.cause


class Count(KeyedProcessFunction):
    """Counts the entries of each key that pass through it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        assert self.count.value() <= value[2]
        yield value


@pytest.mark.slow
def test_an_operator_that_is_new_starts_empty_beside_those_that_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch)
    env = runs.environment(2)
    ledger.seen_of(ledger.written(env, COUNT))
    runs.stop(env)
    env = runs.environment(3)
    written = ledger.written(env, COUNT, burst=COUNT)
    ledger.seen_of(written.key_by(lambda entry: entry[0]).process(Count()).uid("count").disable_chaining())
    runs.finish(env)
    ledger.check_seen(3, COUNT)


RULES: Final = MapStateDescriptor("rules", Types.LONG(), Types.STRING())


class Ruled(KeyedBroadcastProcessFunction[str, int, int, Any]):
    """Yields each number with the rules known to its subtask."""

    def process_broadcast_element(self, value: int, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(value, f"rule {value}")

    def process_element(self, value: int, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield value, dict(ctx.get_broadcast_state(RULES).items())


def ruled(env: StreamExecutionEnvironment, burst: int) -> DataStream:
    numbers = ledger.numbers(env, COUNT, burst)
    rules = numbers.filter(lambda value: value < 10).uid("rules").broadcast(RULES)
    return numbers.key_by(ledger.key_of).connect(rules).process(Ruled()).uid("ruled")


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(2, 5), (3, 1)])
def test_rules_are_known_to_every_subtask_at_another_parallelism(
    before: int, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch)
    env = runs.environment(before)
    ledger.seen_of(ruled(env, ledger.BURST))
    runs.stop(env)
    env = runs.environment(after)
    ledger.seen_of(ruled(env, COUNT))
    runs.finish(env)
    assert 0 < len(ledger.SEEN) < COUNT
    assert all(rules == {value: f"rule {value}" for value in range(10)} for _, rules in ledger.SEEN)
