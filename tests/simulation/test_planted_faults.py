"""The simulator sees each fault planted in production code, within a stated number of seeds."""

from __future__ import annotations

import re

import pytest

from headgate.testing.sim.run import run
from tests.simulation import mode_plants, plants

# What is planted, the most seeds that it may take to see it, and what is seen then ("": whatever it is).
PLANTS: list[tuple[plants.Plant, int, str]] = [
    (plants.no_alignment, 60, "output"),
    (plants.no_fencing, 200, ""),
    (plants.ack_of_an_old_attempt, 300, "is not whole|output|no durable manifest names it"),
    (plants.metadata_before_the_state, 40, "is not whole"),
    (plants.commit_before_the_manifest, 5, "no durable manifest names it"),
    (plants.abort_in_doubt, 250, "is not whole|output|newest checkpoint|names it"),
    (plants.lost_replay, 60, "missing"),
    (plants.double_commit, 60, "too many"),
    (plants.position_ahead_of_the_barrier, 60, "missing"),
    (plants.no_barrier_after_the_end, 5, "no end after"),
    (plants.clean_up_of_named_files, 20, "names it"),
    (plants.torn_manifest_taken_for_whole, 300, "cannot be restored|cut short"),
    (plants.restore_without_pending_commits, 60, "output|aborted"),
    (plants.attempts_numbered_anew, 150, ""),
    (plants.operator_state_forgotten, 60, "counts"),
    (plants.timers_forgotten, 60, "missing"),
    (plants.union_of_one_subtask, 150, "not one element of each|end|missing|counts"),
    (plants.discard_of_what_is_used_again, 60, "names it"),
    (plants.folder_of_shared_files_deleted, 120, "folder of shared files"),
    (plants.state_written_as_it_is_now, 120, "counts|missing"),
    (mode_plants.rest_of_the_batch_forgotten, 400, "missing"),
    (mode_plants.a_channel_forgotten, 150, "missing"),
    (mode_plants.senders_part_forgotten, 150, "missing"),
    (mode_plants.recording_goes_on, 150, "too many"),
    (mode_plants.new_input_before_what_was_in_flight, 400, "missing|saw"),
    (mode_plants.routed_anew_without_a_look_at_the_keys, 400, "too many|key group"),
    (mode_plants.checkpoint_before_recovery, 400, "missing"),
    (mode_plants.a_channel_counted_twice, 200, "missing"),
    (mode_plants.savepoint_commits, 40, "is complete"),
    (mode_plants.stop_commits_before_it_is_recorded, 60, "is complete"),
    (mode_plants.increment_on_foreign_state, 250, "is not whole"),
    (mode_plants.claimed_snapshot_deleted_too_early, 100, "was claimed"),
]

# The same, for what needs a certain kind of fault, which is brought about more often.
PROVOKED: list[tuple[plants.Plant, str, int, str]] = [
    (mode_plants.stop_forgotten, "master crash", 250, "aborted|is not whole|too many"),
    (
        mode_plants.no_epochs,
        "master presumed dead",
        60,
        "is complete|prepared twice|is not whole|starts from|is deleted",
    ),
    (mode_plants.epochs_looked_at_too_late, "master presumed dead", 500, "is complete"),
]
OFTEN = 3


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "seeds_max", "symptom"), PLANTS, ids=[plant.__name__ for plant, _, _ in PLANTS])
def test_the_simulator_sees_a_planted_fault(
    plant: plants.Plant, seeds_max: int, symptom: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    _expect(symptom, seeds_max)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "fault", "seeds_max", "symptom"), PROVOKED, ids=[each[0].__name__ for each in PROVOKED]
)
def test_the_simulator_sees_a_planted_fault_where_another_one_happens_often(
    plant: plants.Plant, fault: str, seeds_max: int, symptom: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    _expect(symptom, seeds_max, (fault,) * OFTEN)


def _expect(symptom: str, seeds_max: int, often: tuple[str, ...] = ()) -> None:
    for seed in range(1, seeds_max + 1):
        report = run(seed, often=often)
        if not report.passed:
            assert re.search(symptom, " ".join(report.violations)), report.violations
            return
    pytest.fail(f"it was not seen within {seeds_max} seeds")
