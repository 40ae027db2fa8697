"""The simulator sees each fault planted in production code, within a stated number of seeds."""

from __future__ import annotations

import re

import pytest

from headgate.testing.sim.run import run
from tests.simulation import plants

PLANTS: list[tuple[plants.Plant, int, str]] = [
    (plants.no_alignment, 20, "differ|never"),
    (plants.no_fencing, 20, ""),
    (plants.ack_of_an_old_attempt, 20, ""),
    (plants.metadata_before_the_state, 20, "is not whole"),
    (plants.commit_before_the_manifest, 20, "no durable manifest names it"),
    (plants.abort_in_doubt, 200, ""),
    (plants.lost_replay, 20, "missing"),
    (plants.double_commit, 60, "too many"),
    (plants.position_ahead_of_the_barrier, 20, "missing"),
    (plants.no_barrier_after_the_end, 20, "no end after"),
    (plants.clean_up_of_named_files, 20, "names it"),
    (plants.torn_manifest_taken_for_whole, 100, ""),
    (plants.restore_without_pending_commits, 60, ""),
    (plants.attempts_numbered_anew, 100, ""),
    (plants.state_written_as_it_is_now, 100, "differ"),
]


@pytest.mark.parametrize(("plant", "seeds_max", "symptom"), PLANTS, ids=[plant.__name__ for plant, _, _ in PLANTS])
def test_the_simulator_sees_a_planted_fault(
    plant: plants.Plant, seeds_max: int, symptom: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    for seed in range(1, seeds_max + 1):
        report = run(seed)
        if not report.passed:
            assert re.search(symptom, " ".join(report.violations)), report.violations
            return
    pytest.fail(f"{plant.__name__} was not seen within {seeds_max} seeds")
