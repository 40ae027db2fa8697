"""Savepoints that were begun: which of them never became complete, by what a dead driver has left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import ownership
from headgate.checkpoint.drivers.begun_savepoints import clear_given_up, given_up, record_begun, record_complete
from headgate.checkpoint.manifest import encode
from headgate.checkpoint.store import CheckpointStore, MemoryStore
from headgate.elements import SavepointFormat
from headgate.errors import StorageError
from tests.unit.checkpoint.manifests import manifest

A, B = "/savepoints/savepoint-a", "/savepoints/savepoint-b"
WHOLE = encode(replace(manifest(4), savepoint=SavepointFormat.NATIVE))


class Elsewhere:
    """The folders of savepoints, by their location."""

    def __init__(self) -> None:
        self.folders = {A: MemoryStore(), B: MemoryStore()}
        self.is_away = False

    def open(self, location: str) -> CheckpointStore:
        if self.is_away:
            raise StorageError("no answer")
        return self.folders[location]


@pytest.fixture
def elsewhere() -> Elsewhere:
    return Elsewhere()


def begun(*locations: str) -> MemoryStore:
    store = MemoryStore()
    own = ownership.take_epoch(store, "aa")
    for location in locations:
        record_begun(store, own, location)
    return store


def test_a_savepoint_that_was_told_to_be_complete_is_never_given_up(elsewhere: Elsewhere) -> None:
    store = MemoryStore()
    own = ownership.take_epoch(store, "aa")
    record_begun(store, own, A)
    record_complete(store, own, A)
    assert given_up(store, elsewhere.open) == frozenset(), "also when its user has moved it away since"


def test_without_a_manifest_it_was_given_up_for_every_later_driver(elsewhere: Elsewhere) -> None:
    store = begun(A, B)
    elsewhere.folders[A].write("a1-count-0-keyed", [b"state"])
    elsewhere.folders[B].write(paths.METADATA, [WHOLE[:-5]])
    for _ in range(2):
        assert given_up(store, elsewhere.open) == {A, B}


def test_with_a_whole_manifest_it_is_complete_though_its_driver_died_before_it_could_say_so(
    elsewhere: Elsewhere,
) -> None:
    store = begun(A)
    elsewhere.folders[A].write(paths.METADATA, [WHOLE])
    assert given_up(store, elsewhere.open) == frozenset()
    elsewhere.folders[A].delete([paths.METADATA])
    assert given_up(store, elsewhere.open) == frozenset(), "also when its user has moved it away since"


def test_what_cannot_be_looked_at_may_be_complete(elsewhere: Elsewhere, caplog: pytest.LogCaptureFixture) -> None:
    store = begun(A)
    elsewhere.is_away = True
    assert given_up(store, elsewhere.open) == frozenset()
    assert f"cannot find out whether the savepoint {A} is complete" in caplog.text
    elsewhere.is_away = False
    assert given_up(store, elsewhere.open) == {A}


def test_a_record_that_was_cut_short_is_of_a_savepoint_that_no_subtask_has_heard_of(elsewhere: Elsewhere) -> None:
    store = begun(A)
    [record] = store.list_files(paths.SAVEPOINTS)
    store.files[record] = store.files[record][:20]
    assert given_up(store, elsewhere.open) == frozenset()


def stands(store: CheckpointStore) -> bool:
    return bool(store.list_files(""))


@pytest.mark.parametrize(
    ("drivers", "is_known"), [(1, True), (2, False)], ids=["by the next driver", "by the one after"]
)
def test_what_was_given_up_is_deleted_and_forgotten_in_the_end(
    elsewhere: Elsewhere, drivers: int, is_known: bool
) -> None:
    store = begun(A, B)
    elsewhere.folders[A].write("a1-count-0-keyed", [b"state"])
    elsewhere.folders[B].write(paths.METADATA, [WHOLE])
    given_up(store, elsewhere.open)
    for nonce in ("bb", "cc")[:drivers]:
        own = ownership.take_epoch(store, nonce)
    clear_given_up(store, own, elsewhere.open)
    assert (stands(elsewhere.folders[A]), stands(elsewhere.folders[B])) == (False, True)
    assert (given_up(store, elsewhere.open) == {A}) is is_known


def test_a_driver_leaves_the_folders_of_its_own_savepoints_alone(elsewhere: Elsewhere) -> None:
    store = begun(A)
    own = ownership.take_epoch(store, "bb")
    record_begun(store, own, B)
    for folder in elsewhere.folders.values():
        folder.write("a1-count-0-keyed", [b"state"])
    clear_given_up(store, own, elsewhere.open)
    assert (stands(elsewhere.folders[A]), stands(elsewhere.folders[B])) == (False, True)
