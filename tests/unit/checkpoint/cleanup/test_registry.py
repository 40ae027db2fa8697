"""Which shared files checkpoints may still need."""

from __future__ import annotations

from dataclasses import replace

from headgate.checkpoint.cleanup.registry import SharedStateRegistry
from headgate.checkpoint.manifest import Manifest
from headgate.ids import Attempt
from tests.unit.checkpoint.manifests import file, keyed, manifest, operator

A1 = "shared/1-a1-op-0-a"
B1 = "shared/1-a1-op-0-b"
C2 = "shared/2-a1-op-0-c"


def using(checkpoint_id: int, *paths: str, attempt: int = 1) -> Manifest:
    parts = [keyed("op", index, index, file(path)) for index, path in enumerate(paths)]
    return replace(manifest(checkpoint_id, operator("op", *parts)), attempt=Attempt(attempt))


def registry_of(*complete: Manifest, kept: int = 2) -> SharedStateRegistry:
    registry = SharedStateRegistry(checkpoints_kept=kept)
    for each in complete:
        registry.register(each)
    return registry


def test_a_file_stays_for_as_long_as_one_of_the_newest_checkpoints_names_it() -> None:
    registry = registry_of(using(1, A1, B1), using(2, A1, C2))
    assert not any(registry.files().may_go(path) for path in (A1, B1, C2))
    registry.register(using(3, A1))
    assert [path for path in (A1, B1, C2) if registry.files().may_go(path)] == [B1]


def test_a_file_that_a_later_checkpoint_names_again_stays() -> None:
    registry = registry_of(using(1, A1), using(2), using(3, A1), using(4))
    assert not registry.files().may_go(A1)


def test_nothing_of_a_checkpoint_that_is_under_way_may_go() -> None:
    assert not registry_of(using(1, A1)).files().may_go(C2)


def test_what_was_made_for_a_checkpoint_that_was_passed_over_may_go() -> None:
    assert registry_of(using(1, A1), using(3, A1)).files().may_go(C2)


def test_before_any_checkpoint_is_complete_nothing_may_go() -> None:
    assert not any(registry_of().files().may_go(path) for path in (A1, "shared/ahead-1-a1-op-0-log"))


def test_files_that_are_not_shared_are_no_business_of_the_registry() -> None:
    shared = registry_of(using(5)).files()
    assert not any(shared.may_go(path) for path in ("chk-1/_metadata", "_result", "taskowned/x", "shared/odd"))


def test_of_what_a_subtask_writes_ahead_only_that_before_the_last_in_use_may_go() -> None:
    shared = registry_of(using(1, "shared/ahead-3-a1-op-0-log")).files()
    numbers = {number: shared.may_go(f"shared/ahead-{number}-a1-op-0-log") for number in (2, 3, 4)}
    assert numbers == {2: True, 3: False, 4: False}
    assert not shared.may_go("shared/ahead-2-a1-op-1-log")


def test_what_was_written_ahead_may_go_when_checkpoints_have_bases_of_their_own() -> None:
    registry = registry_of(using(1, "shared/ahead-3-a1-op-0-log"), using(2, "shared/2-a1-op-0-base"))
    assert not registry.files().may_go("shared/ahead-3-a1-op-0-log")
    registry.register(using(3, "shared/2-a1-op-0-base"))
    numbers = {number: registry.files().may_go(f"shared/ahead-{number}-a1-op-0-log") for number in (2, 3, 4)}
    assert numbers == {2: True, 3: True, 4: False}


def test_what_an_earlier_attempt_wrote_ahead_may_go_unless_it_is_in_use() -> None:
    used, unused = "shared/ahead-3-a1-op-0-log", "shared/ahead-4-a1-op-0-log"
    registry = registry_of(using(1, used))
    assert not registry.files().may_go(unused)
    registry.register(using(2, used, attempt=2))
    assert [registry.files().may_go(path) for path in (used, unused)] == [False, True]


def test_a_manifest_that_builds_on_what_may_have_gone_is_found_out() -> None:
    registry = registry_of(using(1, A1, B1), using(2, A1), using(3, A1))
    assert registry.unknown(using(4, A1, B1, "shared/4-a1-op-0-new")) == [B1]
    assert registry.unknown(using(4, A1, "shared/4-a1-op-0-new")) == []


def test_a_new_master_knows_the_files_of_the_checkpoint_that_it_restores() -> None:
    registry = registry_of(using(7, A1, attempt=3))
    assert registry.unknown(using(8, A1, "shared/8-a4-op-0-new", attempt=4)) == []
    assert registry.files().may_go(B1)
