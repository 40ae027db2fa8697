"""State that a slot starts from: as bytes, or as local files where a backend wants files."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.store import MemoryStore
from headgate.errors import DamagedFileError
from headgate.ids import CheckpointId
from headgate.runtime.slot_storage.fetch import Fetch
from headgate.state.files import FetchedKeyed, InlineHandle, KeyedKind, KeyedState, StateFile
from headgate.state.operator.list_elements import ListElements


class Rig:
    def __init__(self, folder: Path) -> None:
        self.store = MemoryStore()
        self.folder = folder
        self.fetch = Fetch(self.store, self._made, CheckpointId(7))

    def _made(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir()
        return made

    def stored(self, name: str) -> StateFile:
        return StateFile(name, self.store.write(f"shared/1-a1-op-0-{name}", [name.encode()]))

    def fetched(self, kind: KeyedKind, base: list[StateFile], log: list[StateFile]) -> FetchedKeyed:
        state = KeyedState(key_groups=(0, 127), kind=kind, base=tuple(base), log=tuple(log))
        lists = {"splits": ListElements.of([1])}
        restored = self.fetch.operators({"op": RestoredOperator(keyed=(state,), lists=lists)})["op"]
        assert (restored.checkpoint_id, restored.lists) == (7, lists)
        (part,) = restored.keyed
        assert part.state is state
        return part


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_entries_and_logs_are_bytes(rig: Rig) -> None:
    base, one, other = rig.stored("base"), rig.stored("delta-1"), StateFile("d", InlineHandle(b"in"))
    part = rig.fetched("entries", [base], [one, other])
    assert part.files == {base: b"base", one: b"delta-1", other: b"in"}
    assert rig.fetch.files == 2


def test_parts_of_a_log_with_one_name_are_told_apart(rig: Rig) -> None:
    earlier, later = (StateFile("delta-e1", InlineHandle(data)) for data in (b"attempt 1", b"attempt 2"))
    part = rig.fetched("entries", [rig.stored("base")], [earlier, later])
    assert [part.files[file] for file in part.state.log] == [b"attempt 1", b"attempt 2"]


def test_the_files_of_a_database_lie_together_under_their_own_names_and_its_log_is_bytes(rig: Rig) -> None:
    small = StateFile("CURRENT", InlineHandle(b"MANIFEST-000004"))
    table, log = rig.stored("000012.sst"), rig.stored("delta-1")
    part = rig.fetched("rocksdb", [table, small], [log])
    assert part.files[log] == b"delta-1"
    sst, current = part.files[table], part.files[small]
    assert isinstance(sst, Path)
    assert isinstance(current, Path)
    assert (sst.name, sst.read_bytes()) == ("000012.sst", b"000012.sst")
    assert (current.name, current.read_bytes()) == ("CURRENT", b"MANIFEST-000004")
    assert sst.parent == current.parent
    assert rig.fetch.files == 2


def test_each_database_has_a_folder_of_its_own(rig: Rig) -> None:
    folders = set()
    for file in (rig.stored("a"), rig.stored("b")):
        path = rig.fetched("rocksdb", [file], []).files[file]
        assert isinstance(path, Path)
        folders.add(path.parent)
    assert len(folders) == 2


def test_what_two_parts_share_is_read_once(rig: Rig) -> None:
    base = rig.stored("base")
    rig.fetched("entries", [base], [])
    del rig.store.files["shared/1-a1-op-0-base"]
    assert rig.fetched("entries", [base], []).files == {base: b"base"}


@pytest.mark.parametrize("name", ["../evil", "a/b", "..", ""])
def test_a_name_that_leads_out_of_the_folder_is_refused(rig: Rig, name: str) -> None:
    with pytest.raises(DamagedFileError, match="not the name of a file"):
        rig.fetched("rocksdb", [StateFile(name, InlineHandle(b"x"))], [])
