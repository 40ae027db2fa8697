"""What a slot reads of checkpoints and keeps on its own disk, attempt after attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.store import MemoryStore
from headgate.errors import DamagedFileError
from headgate.graph.placement import Placement
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.options import resolve
from headgate.runtime.control.messages import Deploy
from headgate.runtime.slot_storage.scratch import Scratch
from headgate.runtime.slot_storage.slot_storage import Fetch, SlotStorage
from headgate.state.files import FetchedKeyed, FileHandle, InlineHandle, KeyedKind, KeyedState, StateFile
from headgate.state.operator.list_elements import ListElements
from tests.unit.runtime.plans import LINEAGE

SUBTASK = SubtaskId(0, 0)
SETTINGS = resolve({"execution.checkpointing.local-backup.enabled": "true"})


class Rig:
    def __init__(self, folder: Path) -> None:
        self.store = MemoryStore()
        self.others: dict[str, MemoryStore] = {}
        self.scratch = Scratch(0, [str(folder)])
        self.storage = SlotStorage(self.store, self.scratch, lambda location: self.others[location])
        self.files = tuple(
            StateFile(name, self.store.write(f"shared/1-a1-op-0-{name}", [name.encode()]))
            for name in ("1.sst", "2.sst")
        )

    def deploy(self, attempt: int) -> Deploy:
        keyed = KeyedState(key_groups=(0, 127), kind="rocksdb", base=self.files)
        return Deploy(
            attempt=Attempt(attempt),
            lineage=LINEAGE,
            placement=Placement(parallelism=(1,)),
            checkpoint_id=CheckpointId(1),
            restored={SUBTASK: {"op": RestoredOperator(keyed=(keyed,))}},
            splits={},
        )

    def fetched(self, attempt: int) -> list[Path]:
        self.storage.begin(Attempt(attempt))
        (part,) = self.storage.fetch(self.deploy(attempt), SETTINGS).restored[SUBTASK]["op"].keyed
        return [path for path in part.files.values() if isinstance(path, Path)]

    def folders(self) -> list[str]:
        return sorted(path.name for path in self.scratch.folder().iterdir())


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_an_attempt_removes_the_files_of_those_before_it_but_for_the_copies(rig: Rig) -> None:
    rig.fetched(1)
    rig.storage.work_folder(Attempt(1), SUBTASK, "op").joinpath("file").write_bytes(b"x")
    assert all(path.exists() for path in rig.fetched(2))
    assert rig.folders() == ["a2", "copies"]


@pytest.mark.parametrize("fails", [False, True])
def test_an_attempt_that_ends_while_its_state_is_fetched_leaves_nothing_and_harms_nothing(
    rig: Rig, fails: bool
) -> None:
    download = rig.store.download
    of_second: list[Path] = []

    def overtaken(handle: FileHandle, target: Path) -> None:
        rig.store.download = download  # type: ignore[method-assign]
        of_second.extend(rig.fetched(2))
        target.parent.mkdir(parents=True)  # as if the first attempt were just about to make its next folder
        download(handle, target)
        if fails:
            raise DamagedFileError("planned")

    rig.store.download = overtaken  # type: ignore[method-assign]
    rig.storage.begin(Attempt(1))
    if fails:
        with pytest.raises(DamagedFileError, match="planned"):
            rig.storage.fetch(rig.deploy(1), SETTINGS)
    else:
        rig.storage.fetch(rig.deploy(1), SETTINGS)
    assert [path.read_bytes() for path in of_second] == [b"1.sst", b"2.sst"]
    assert rig.folders() == ["a2", "copies"]


class Reading:
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
def reading(tmp_path: Path) -> Reading:
    return Reading(tmp_path)


def test_entries_and_logs_are_bytes(reading: Reading) -> None:
    base, one, other = reading.stored("base"), reading.stored("delta-1"), StateFile("d", InlineHandle(b"in"))
    part = reading.fetched("entries", [base], [one, other])
    assert part.files == {base: b"base", one: b"delta-1", other: b"in"}
    assert reading.fetch.files == 2


def test_parts_of_a_log_with_one_name_are_told_apart(reading: Reading) -> None:
    earlier, later = (StateFile("delta-e1", InlineHandle(data)) for data in (b"attempt 1", b"attempt 2"))
    part = reading.fetched("entries", [reading.stored("base")], [earlier, later])
    assert [part.files[file] for file in part.state.log] == [b"attempt 1", b"attempt 2"]


def test_the_files_of_a_database_lie_together_under_their_own_names_and_its_log_is_bytes(reading: Reading) -> None:
    small = StateFile("CURRENT", InlineHandle(b"MANIFEST-000004"))
    table, log = reading.stored("000012.sst"), reading.stored("delta-1")
    part = reading.fetched("rocksdb", [table, small], [log])
    assert part.files[log] == b"delta-1"
    sst, current = part.files[table], part.files[small]
    assert isinstance(sst, Path)
    assert isinstance(current, Path)
    assert (sst.name, sst.read_bytes()) == ("000012.sst", b"000012.sst")
    assert (current.name, current.read_bytes()) == ("CURRENT", b"MANIFEST-000004")
    assert sst.parent == current.parent
    assert reading.fetch.files == 2


def test_each_database_has_a_folder_of_its_own(reading: Reading) -> None:
    folders = set()
    for file in (reading.stored("a"), reading.stored("b")):
        path = reading.fetched("rocksdb", [file], []).files[file]
        assert isinstance(path, Path)
        folders.add(path.parent)
    assert len(folders) == 2


def test_what_two_parts_share_is_read_once(reading: Reading) -> None:
    base = reading.stored("base")
    reading.fetched("entries", [base], [])
    del reading.store.files["shared/1-a1-op-0-base"]
    assert reading.fetched("entries", [base], []).files == {base: b"base"}


@pytest.mark.parametrize("name", ["../evil", "a/b", "..", ""])
def test_a_name_that_leads_out_of_the_folder_is_refused(reading: Reading, name: str) -> None:
    with pytest.raises(DamagedFileError, match="not the name of a file"):
        reading.fetched("rocksdb", [StateFile(name, InlineHandle(b"x"))], [])
