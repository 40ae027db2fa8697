"""Local copies of state: read where they are whole, done without where they are not."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headgate.checkpoint.store import MemoryStore, read_state
from headgate.errors import DamagedFileError, StorageError
from headgate.ids import Attempt, CheckpointId
from headgate.runtime.slot_storage.local_copies import LocalCopies

ONE, TWO, THREE = CheckpointId(1), CheckpointId(2), CheckpointId(3)
FILE = "chk-1/a1-op-0-keyed"


class Rig:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "copies"
        self.folder.mkdir()
        self.remote = MemoryStore()
        self.store = LocalCopies(self.remote, self.folder)
        self.store.begin(Attempt(1), None, [])

    def copies(self) -> list[bytes]:
        return sorted(path.read_bytes() for path in self.folder.iterdir())

    def spoil(self) -> None:
        for path in self.folder.iterdir():
            path.write_bytes(path.read_bytes()[:-1] + b"!")


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_what_was_written_is_read_from_the_copy(rig: Rig) -> None:
    handle = rig.store.write(FILE, [b"st", b"ate"])
    del rig.remote.files[FILE]
    assert read_state(rig.store, handle) == b"state"
    assert rig.store.served == 1


@pytest.mark.parametrize("spoil", [Rig.spoil, lambda rig: [path.unlink() for path in rig.folder.iterdir()]])
def test_a_copy_that_has_changed_or_is_gone_is_passed_over(
    rig: Rig, tmp_path: Path, spoil: Callable[[Rig], object]
) -> None:
    handle = rig.store.write(FILE, [b"state"])
    spoil(rig)
    rig.store.download(handle, tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"state"
    assert read_state(rig.store, handle) == b"state"
    assert rig.store.served == 0
    assert rig.copies() == []


def test_an_uploaded_file_is_copied_and_downloaded_from_the_copy(rig: Rig, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"sorted")
    handle = rig.store.upload(FILE, source)
    source.unlink()
    del rig.remote.files[FILE]
    rig.store.download(handle, target)
    assert target.read_bytes() == b"sorted"
    target.unlink()
    assert rig.copies() == [b"sorted"]
    assert rig.store.served == 1


def test_a_large_file_takes_no_room_twice(rig: Rig, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"sorted")
    rig.store.download(rig.store.upload(FILE, source), target)
    assert target.samefile(source)


def test_damage_in_storage_is_told_when_there_is_no_copy(rig: Rig, tmp_path: Path) -> None:
    handle = rig.store.write(FILE, [b"state"])
    rig.spoil()
    rig.remote.files[FILE] = b"stat!"
    with pytest.raises(DamagedFileError, match=FILE):
        rig.store.download(handle, tmp_path / "target")


def test_a_disk_that_takes_no_copy_fails_nothing(rig: Rig, tmp_path: Path) -> None:
    rig.folder.rmdir()
    source = tmp_path / "source"
    source.write_bytes(b"sorted")
    handles = [rig.store.write(FILE, [b"st", b"ate"]), rig.store.upload("chk-1/a1-op-0-sst", source)]
    assert [read_state(rig.store, handle) for handle in handles] == [b"state", b"sorted"]
    assert rig.store.served == 0


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can become longer than a thousand bytes meanwhile, that of the test's own output included."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_no_part_of_a_copy_stays(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with full_disk():
        handle = rig.store.write(FILE, [b"x" * 900, b"y" * 900])
    assert read_state(rig.store, handle) == b"x" * 900 + b"y" * 900
    assert rig.copies() == []
    monkeypatch.setattr(os, "link", _refuse)  # the working files lie on another disk
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.truncate(1000)
    rig.store.upload("chk-1/a1-op-0-small", source)
    assert len(rig.copies()) == 1
    monkeypatch.setattr(shutil, "copyfile", _copy_half)
    rig.store.upload("chk-1/a1-op-0-sst", source)
    assert len(rig.copies()) == 1
    assert rig.store.served == 0


def _refuse(source: Path, target: Path) -> None:
    raise OSError(errno.EXDEV, "another disk")


def _copy_half(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes()[:500])
    raise OSError(errno.ENOSPC, "no room")


def test_what_storage_refuses_leaves_no_copy(rig: Rig) -> None:
    rig.remote.write(FILE, [b"somebody else's"])
    with pytest.raises(StorageError):
        rig.store.write(FILE, [b"state"])
    assert rig.store.read(FILE) == b"somebody else's"
    assert rig.copies() == []


def test_copies_go_when_the_complete_checkpoint_does_not_need_them_nor_one_under_way(rig: Rig) -> None:
    old, used, new, pending = (
        f"{path}-a1-op-0-x" for path in ("shared/1", "shared/1-a1-op-1-y", "shared/2", "shared/3")
    )
    for path in (old, used, new):
        rig.store.write(path, [path.encode()])
    rig.store.taken(ONE, [old, used])
    rig.store.completed(ONE)
    rig.store.taken(TWO, [used, new])
    rig.store.write(pending, [pending.encode()])
    rig.store.completed(TWO)
    assert rig.copies() == sorted(path.encode() for path in (used, new, pending))


def test_copies_for_a_checkpoint_that_was_given_up_go_and_those_it_used_again_stay(rig: Rig) -> None:
    used, new = "shared/1-a1-op-0-x", "shared/2-a1-op-0-x"
    for path in (used, new):
        rig.store.write(path, [path.encode()])
    rig.store.taken(ONE, [used])
    rig.store.completed(ONE)
    rig.store.taken(TWO, [used, new])
    rig.store.aborted(TWO)
    assert rig.copies() == [used.encode()]


def test_copies_written_ahead_wait_until_the_complete_checkpoint_names_later_ones_of_their_writer(rig: Rig) -> None:
    first, given_up, used, next_one = (f"shared/ahead-{number}-a1-op-0-base" for number in (1, 2, 3, 4))
    for path in (first, given_up, used, next_one, "shared/ahead-1-a1-op-1-base"):
        rig.store.write(path, [path.encode()])
    rig.store.completed(ONE)
    rig.store.completed(TWO)  # a large state takes longer than that to be written
    assert len(rig.copies()) == 5
    rig.store.taken(THREE, [first, used])
    rig.store.completed(THREE)
    assert rig.copies() == sorted(path.encode() for path in (first, used, next_one, "shared/ahead-1-a1-op-1-base"))


def test_what_an_earlier_attempt_wrote_ahead_goes_when_no_checkpoint_names_it_any_more(rig: Rig) -> None:
    restored, late, new = "shared/ahead-1-a1-op-0-base", "shared/ahead-2-a1-op-0-base", "shared/ahead-1-a2-op-0-base"
    rig.store.write(restored, [restored.encode()])
    rig.store.begin(Attempt(2), ONE, [restored])
    for path in (late, new):
        rig.store.write(path, [path.encode()])
    assert len(rig.copies()) == 3
    rig.store.taken(TWO, [new])
    rig.store.completed(TWO)
    assert rig.copies() == [new.encode()]


def test_what_was_written_ahead_goes_when_a_checkpoint_writes_a_base_of_its_own(rig: Rig) -> None:
    used, own = "shared/ahead-1-a1-op-0-base", "shared/2-a1-op-0-base"
    for path in (used, own):
        rig.store.write(path, [path.encode()])
    rig.store.taken(ONE, [used])
    rig.store.completed(ONE)
    rig.store.taken(TWO, [own])
    rig.store.completed(TWO)
    assert rig.copies() == [own.encode()]


def test_a_new_attempt_keeps_the_copies_that_it_starts_from_and_no_other(rig: Rig) -> None:
    used, failed = "chk-1/a1-op-0-x", "chk-2/a1-op-0-x"
    handles = {path: rig.store.write(path, [path.encode()]) for path in (used, failed)}
    rig.store.begin(Attempt(2), ONE, [used])
    assert rig.copies() == [used.encode()]
    assert read_state(rig.store, handles[used]) == used.encode()
