"""S33: slots that survive a failure start from their own copies of state; where there are none, from the storage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.datastream import KeyedProcessFunction
from headgate.datastream.functions import CheckpointListener
from headgate.runtime.monitoring.outcome import JobOutcome
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import BACKENDS, Runs, on_every_backend

COUNT: Final = 4000
IN_FILES: Final = {"execution.checkpointing.data-inline-threshold": "0 b"}
LOCAL: Final = {"execution.checkpointing.local-backup.enabled": "true"}
FAILED: list[int] = []

on_two_backends: Final = pytest.mark.parametrize("backend", ["hashmap, changelog", "rocksdb, incremental"])


class FailingLedger(ledger.Ledger, CheckpointListener):
    """Fails once, after some checkpoints."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.completed = checkpoint_id

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if not FAILED and getattr(self, "completed", 0) >= 4:
            FAILED.append(value)
            HURRY.set()
            raise ValueError("planned")
        return super().process_element(value, ctx)


def fail_and_finish(runs: Runs) -> JobOutcome:
    FAILED.clear()
    env = runs.environment(2)
    numbers = ledger.numbers(env, COUNT, ledger.BURST).key_by(ledger.key_of)
    ledger.seen_of(numbers.process(FailingLedger()).uid("ledger"))
    outcome = runs.finish(env)
    assert FAILED != []
    ledger.check_seen(2, COUNT)
    return outcome


@on_every_backend
@pytest.mark.slow
def test_after_a_failure_that_slots_survive_nothing_is_fetched(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = fail_and_finish(Runs(tmp_path, monkeypatch, **backend, **IN_FILES, **LOCAL)).counters
    assert counters["local_restored_files"] >= 2
    assert counters["remote_restored_files"] == 0


@on_two_backends
@pytest.mark.slow
def test_without_local_copies_all_is_fetched(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counters = fail_and_finish(Runs(tmp_path, monkeypatch, **BACKENDS[backend], **IN_FILES)).counters
    assert counters["remote_restored_files"] >= 2
    assert counters["local_restored_files"] == 0


@on_two_backends
@pytest.mark.slow
def test_a_run_that_goes_on_in_other_slots_fetches_all_whatever_copies_there_were(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **BACKENDS[backend], **IN_FILES, **LOCAL)
    env = runs.environment(2)
    ledger.seen_of(ledger.written(env, COUNT))
    runs.stop(env)
    env = runs.environment(2)
    ledger.seen_of(ledger.written(env, COUNT, burst=COUNT))
    counters = runs.finish(env).counters
    assert counters["remote_restored_files"] >= 2
    assert counters["local_restored_files"] == 0
    ledger.check_seen(2, COUNT)
