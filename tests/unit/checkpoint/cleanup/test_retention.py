"""Which files go."""

from __future__ import annotations

from headgate.checkpoint.cleanup.registry import SharedStateRegistry
from headgate.checkpoint.cleanup.retention import abandoned_files, checkpoint_files, leftover_files, superseded_files
from headgate.ids import Attempt, CheckpointId
from tests.unit.checkpoint.manifests import file, keyed, manifest, operator

NOTHING = SharedStateRegistry(checkpoints_kept=1).files()
LISTING = ["_result", "chk-1/_metadata", "chk-1/a1-op-0-keyed", "chk-2/_metadata", "chk-2/a1-op-0-keyed", "chk-3/a1-x"]


def test_older_checkpoints_go_and_their_manifests_go_first() -> None:
    assert superseded_files(LISTING, [manifest(2)], NOTHING) == ["chk-1/_metadata", "chk-1/a1-op-0-keyed"]


def test_a_file_of_an_old_checkpoint_that_a_kept_manifest_names_stays() -> None:
    keep = manifest(2, operator("op", keyed("op", 0, 127, file("chk-1/a1-op-0-keyed"))))
    assert superseded_files(LISTING, [keep], NOTHING) == ["chk-1/_metadata"]


def test_all_kept_checkpoints_stay() -> None:
    assert superseded_files(LISTING, [manifest(1), manifest(2)], NOTHING) == []


def test_nothing_goes_while_nothing_is_kept() -> None:
    assert superseded_files(LISTING, [], NOTHING) == []


def test_leftovers_older_than_the_newest_kept_checkpoint_go() -> None:
    assert superseded_files([*LISTING, "chk-5/_metadata"], [manifest(5), manifest(2)], NOTHING) == [
        "chk-1/_metadata",
        "chk-1/a1-op-0-keyed",
        "chk-3/a1-x",
    ]


def test_markers_of_attempts_go_except_those_of_the_last_and_of_the_one_before() -> None:
    listing = ["_attempt/1", "_attempt/2", "_attempt/3", "_attempt/4"]
    assert leftover_files(listing, [], frozenset(), before=Attempt(4)) == ["_attempt/1", "_attempt/2"]


def test_giving_up_a_checkpoint_touches_its_own_attempt_only() -> None:
    listing = ["chk-3/a1-op-0-keyed", "chk-3/a12-op-0-keyed", "chk-3/_metadata", "chk-4/a1-op-0-keyed"]
    assert abandoned_files(listing, CheckpointId(3), Attempt(1)) == ["chk-3/_metadata", "chk-3/a1-op-0-keyed"]


def test_what_a_killed_process_was_writing_goes_where_the_file_would_have_gone() -> None:
    mine = ["chk-3/_metadata.5f.tmp", "chk-3/a1-op-0-keyed.5f.tmp", "shared/3-a1-op-0-base.5f.tmp"]
    others = ["chk-3/a2-op-0-keyed.5f.tmp", "shared/4-a1-op-0-base.5f.tmp", "chk-4/_metadata.5f.tmp"]
    assert sorted(abandoned_files([*mine, *others], CheckpointId(3), Attempt(1))) == mine
    registry = SharedStateRegistry(checkpoints_kept=1)
    registry.register(manifest(3))
    assert sorted(superseded_files([*mine, *others], [manifest(4)], registry.files())) == sorted(
        [*mine, "chk-3/a2-op-0-keyed.5f.tmp"]
    )


def test_the_result_outlives_the_checkpoints() -> None:
    assert "_result" not in checkpoint_files(LISTING)
    assert len(checkpoint_files(LISTING)) == len(LISTING) - 1


def test_a_savepoint_that_somebody_has_put_into_the_folder_of_the_job_stays() -> None:
    assert checkpoint_files(["savepoint-cd6100-0f/_metadata", "savepoint-cd6100-0f/a1-op-0-keyed"]) == []
