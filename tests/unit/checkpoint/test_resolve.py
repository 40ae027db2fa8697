"""Which checkpoint a job starts from, as a function of what storage shows."""

from __future__ import annotations

import pytest

from headgate.checkpoint.resolve import Damaged, Observed, Resolution, RestoreFacts, Torn, resolve_restore
from headgate.errors import RestoreError
from headgate.ids import CheckpointId
from tests.unit.checkpoint.manifests import manifest

BROKEN = Damaged("chk-3/_metadata has changed")


def resolve(
    observed: dict[int, Observed], *others: str, known_complete: int | None = None, may_fall_back: bool = False
) -> Resolution:
    listing = (*others, *(f"chk-{checkpoint_id}/_metadata" for checkpoint_id in observed))
    return resolve_restore(
        RestoreFacts(
            listing=listing,
            manifests={CheckpointId(checkpoint_id): found for checkpoint_id, found in observed.items()},
            known_complete=None if known_complete is None else CheckpointId(known_complete),
            may_fall_back=may_fall_back,
        )
    )


def test_an_empty_folder_means_a_fresh_start() -> None:
    assert resolve({}) == Resolution(manifest=None, last_id=CheckpointId(0), leftovers=(), passed_over=())


def test_the_newest_complete_checkpoint_is_restored() -> None:
    assert resolve({2: manifest(2), 10: manifest(10), 9: manifest(9)}).manifest == manifest(10)


def test_a_checkpoint_without_a_manifest_is_a_leftover_whose_id_is_not_used_again() -> None:
    resolution = resolve({2: manifest(2)}, "chk-3/a1-count-0-keyed", "_result")
    assert resolution.manifest == manifest(2)
    assert (resolution.last_id, resolution.leftovers) == (3, (3,))


def test_a_torn_manifest_was_never_complete_and_is_passed_over() -> None:
    resolution = resolve({2: manifest(2), 3: Torn()})
    assert (resolution.manifest, resolution.leftovers, resolution.last_id) == (manifest(2), (3,), 3)


def test_a_damaged_newest_checkpoint_is_an_error_that_names_it() -> None:
    with pytest.raises(RestoreError, match="checkpoint 3 was complete, but cannot be restored: chk-3/_metadata has"):
        resolve({2: manifest(2), 3: BROKEN})


def test_a_damaged_newest_checkpoint_is_passed_over_where_output_may_repeat() -> None:
    resolution = resolve({2: manifest(2), 3: BROKEN}, may_fall_back=True)
    assert (resolution.manifest, resolution.passed_over, resolution.last_id) == (manifest(2), (3,), 3)


def test_a_damaged_older_checkpoint_harms_nobody() -> None:
    assert resolve({3: BROKEN, 4: manifest(4)}).manifest == manifest(4)


@pytest.mark.parametrize("left", [{2: manifest(2)}, {2: manifest(2), 3: Torn()}])
def test_a_manifest_that_this_master_saw_complete_may_not_vanish(left: dict[int, Observed]) -> None:
    with pytest.raises(RestoreError, match=r"checkpoint 3 was complete.*missing or cut short"):
        resolve(left, known_complete=3)


def test_everything_gone_is_no_fresh_start_for_a_master_that_saw_a_checkpoint_complete() -> None:
    with pytest.raises(RestoreError, match="checkpoint 3 was complete"):
        resolve({}, known_complete=3)


def test_a_manifest_in_the_folder_of_another_checkpoint_is_damage() -> None:
    with pytest.raises(RestoreError, match="is the manifest of checkpoint 2"):
        resolve({3: manifest(2)})
