"""The simulator sees each fault planted in production code, within a stated number of seeds."""

from __future__ import annotations

import re

import pytest

from headgate.testing.sim.run import run
from tests.simulation import plants

# What is planted, the most seeds that it may take to see it, and what is seen then ("": whatever it is).
PLANTS: list[tuple[plants.Plant, int, str]] = [
    (plants.no_alignment, 60, "output"),
    (plants.no_fencing, 200, ""),
    (plants.ack_of_an_old_attempt, 200, "is not whole|output|no durable manifest names it"),
    (plants.metadata_before_the_state, 40, "is not whole"),
    (plants.commit_before_the_manifest, 5, "no durable manifest names it"),
    (plants.abort_in_doubt, 250, "is not whole|output|newest checkpoint|names it"),
    (plants.lost_replay, 60, "missing"),
    (plants.double_commit, 60, "too many"),
    (plants.position_ahead_of_the_barrier, 200, "missing"),
    (plants.no_barrier_after_the_end, 5, "no end after"),
    (plants.clean_up_of_named_files, 20, "names it"),
    (plants.torn_manifest_taken_for_whole, 400, "cannot be restored"),
    (plants.restore_without_pending_commits, 60, "output|aborted"),
    (plants.attempts_numbered_anew, 100, ""),
    (plants.operator_state_forgotten, 60, "counts"),
    (plants.timers_forgotten, 60, "missing"),
    (plants.union_of_one_subtask, 100, "not one element of each|end"),
    (plants.discard_of_what_is_used_again, 60, "names it"),
    (plants.shared_files_deleted_at_once, 600, "is not whole"),
    (plants.folder_of_shared_files_deleted, 60, "folder of shared files"),
    (plants.state_written_as_it_is_now, 120, "counts"),
]


@pytest.mark.slow
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
