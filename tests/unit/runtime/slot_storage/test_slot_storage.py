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
from headgate.runtime.slot_storage.slot_storage import SlotStorage
from headgate.state.files import FileHandle, KeyedState, StateFile
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
