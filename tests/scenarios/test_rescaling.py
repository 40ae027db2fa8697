"""S14 to S17, S19: stopping a job and going on from its last checkpoint, at the same parallelism or another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headgate.common import Types
from headgate.datastream import MapFunction
from headgate.datastream.functions import CheckpointedFunction, FunctionInitializationContext, FunctionSnapshotContext
from headgate.datastream.state import ListStateDescriptor
from tests.scenarios import ledger
from tests.scenarios.runs import BACKENDS, Runs, on_every_backend

COUNT = 1200


def run_to_the_end(runs: Runs, parallelism: int, **settings: str) -> None:
    env = runs.environment(parallelism, **settings)
    ledger.seen_of(ledger.written(env, COUNT, None))
    runs.finish(env)


def run_a_while(runs: Runs, parallelism: int, **settings: str) -> None:
    env = runs.environment(parallelism, **settings)
    ledger.seen_of(ledger.written(env, COUNT))
    runs.stop(env)


@on_every_backend
@pytest.mark.parametrize("parallelisms", [(2, 3), (3, 1), (1, 4)], ids=str)
def test_keyed_state_goes_on_at_another_parallelism_on_the_subtasks_that_own_it(
    backend: dict[str, str], parallelisms: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source beside it keeps its one subtask, and its position."""
    runs = Runs(tmp_path, monkeypatch, **backend)
    before, after = parallelisms
    run_a_while(runs, before)
    ledger.check_prefix(before)
    run_to_the_end(runs, after)
    assert len(ledger.SEEN) < COUNT  # the second run did not begin anew
    ledger.check_seen(after, COUNT)


@on_every_backend
def test_a_chain_of_stops_and_resumes_loses_nothing_at_any_link(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **backend)
    latest = []
    for parallelism in (2, 2, 3, 1):
        run_a_while(runs, parallelism)
        ledger.check_prefix(parallelism)
        latest.append(runs.latest)
    run_to_the_end(runs, 2)
    assert len(ledger.SEEN) < COUNT
    ledger.check_seen(2, COUNT)
    assert latest == sorted(set(latest))  # no id of a checkpoint is used twice


def test_a_job_goes_on_with_another_way_to_make_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path, monkeypatch)
    of_hash_map = [settings for name, settings in BACKENDS.items() if name.startswith("hashmap")]
    for settings in [*of_hash_map, *reversed(of_hash_map)]:
        run_a_while(runs, 2, **settings)
        ledger.check_prefix(2)
    run_to_the_end(runs, 3)
    ledger.check_seen(3, COUNT)


@pytest.mark.parametrize("backend", [BACKENDS["hashmap, full"]], ids=["hashmap, full"])
def test_state_cannot_change_its_number_of_key_groups(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **backend)
    run_a_while(runs, 2)
    env = runs.environment(2, **{"pipeline.max-parallelism": "32", "restart-strategy.type": "none"})
    ledger.seen_of(ledger.written(env, COUNT, None))
    outcome: Any = env.submit().wait(20.0)
    assert outcome.status.value == "failed"
    assert "max parallelism 24" in outcome.cause
    run_to_the_end(runs, 3)  # the refusal has done no harm
    ledger.check_seen(3, COUNT)


SPLIT: list[list[int]] = []
UNION: list[list[int]] = []


class Remembering(MapFunction, CheckpointedFunction):
    """Keeps the numbers that its subtask has seen in a list, and how many there are in a union list."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.split = store.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.union = store.get_union_list_state(ListStateDescriptor("counts", Types.LONG()))
        self.seen: list[int] = []
        if context.is_restored():
            SPLIT.append(list(self.split))
            UNION.append(list(self.union))
            self.seen += SPLIT[-1]

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.split.update(self.seen)
        self.union.update([len(self.seen)])

    def map(self, value: int) -> tuple[int, int]:
        self.seen.append(value)
        return value, len(self.seen)


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2), (1, 4)])
def test_a_list_is_split_among_the_new_subtasks_and_a_union_list_is_seen_by_all(
    before: int, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch)
    SPLIT.clear()
    UNION.clear()
    env = runs.environment(before)
    ledger.seen_of(ledger.numbers(env, COUNT, 500).rebalance().map(Remembering()).uid("remembering"))
    runs.stop(env)
    env = runs.environment(after)
    ledger.seen_of(ledger.numbers(env, COUNT, None).rebalance().map(Remembering()).uid("remembering"))
    runs.finish(env)
    restored = sorted(value for share in SPLIT for value in share)
    assert (len(SPLIT), len(UNION)) == (after, after)
    assert max(map(len, SPLIT)) - min(map(len, SPLIT)) <= 1
    assert sorted([*restored, *(value for value, _ in ledger.SEEN)]) == list(range(COUNT))
    assert 0 < len(restored) < COUNT
    assert all(counts == UNION[0] for counts in UNION)
    assert (len(UNION[0]), sum(UNION[0])) == (before, len(restored))
