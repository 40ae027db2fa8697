"""S14, S15, S19: stopping a job and going on from its last checkpoint, at the same parallelism or another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.scenarios import ledger
from tests.scenarios.runs import BACKENDS, Runs, on_every_backend

pytestmark = pytest.mark.slow

COUNT = 1200


def run_to_the_end(runs: Runs, parallelism: int, **settings: str) -> None:
    env = runs.environment(parallelism, **settings)
    ledger.seen_of(ledger.written(env, COUNT, burst=COUNT))
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
    assert len(ledger.SEEN) < COUNT  # the second run did not begin again
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


@on_every_backend
def test_state_refuses_another_number_of_key_groups_and_can_still_go_on_with_its_own(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **backend)
    run_a_while(runs, 2)
    env = runs.environment(2, **{"pipeline.max-parallelism": "32", "restart-strategy.type": "none"})
    ledger.seen_of(ledger.written(env, COUNT, burst=COUNT))
    outcome: Any = env.submit().wait(120.0)
    assert outcome.status.word == "failed"
    assert "max parallelism 24" in outcome.cause
    run_to_the_end(runs, 3)  # the refusal has done no harm
    ledger.check_seen(3, COUNT)
