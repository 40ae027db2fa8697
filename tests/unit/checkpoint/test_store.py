"""What is particular to checkpoint storage on file systems; what every store does is in the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.store import MemoryStore, read_state
from headgate.errors import StorageError
from headgate.ids import JobId
from headgate.state.files import InlineHandle

JOB = JobId("cd61")


def test_files_lie_in_the_folder_of_the_job(tmp_path: Path) -> None:
    FileSystemStore.open(str(tmp_path), JOB).write("chk-1/_metadata", [b"x"])
    assert (tmp_path / "cd61" / "chk-1" / "_metadata").read_bytes() == b"x"


def test_a_relative_location_is_relative_to_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert FileSystemStore.open("checkpoints", JOB).locate("chk-1/a") == f"{tmp_path}/checkpoints/cd61/chk-1/a"


def test_a_location_of_an_unknown_kind_is_an_error_that_names_it() -> None:
    with pytest.raises(StorageError, match=r"ftp://host/x.*Give a local path"):
        FileSystemStore.open("ftp://host/x", JOB)


def test_a_place_that_cannot_be_written_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    store = FileSystemStore.open(f"{tmp_path}/file", JOB)
    with pytest.raises(StorageError, match=r"cannot write .*/file/cd61/chk-1/a: .*Check that the folder"):
        store.write("chk-1/a", [b"x"])


def test_a_source_of_chunks_that_fails_is_heard(tmp_path: Path) -> None:
    def chunks() -> list[bytes]:
        raise KeyError("user value")

    store = FileSystemStore.open(str(tmp_path), JOB)
    with pytest.raises(KeyError, match="user value"):
        store.write("chk-1/a", (chunk for _ in [0] for chunk in chunks()))


def test_inline_state_needs_no_storage() -> None:
    assert read_state(MemoryStore(), InlineHandle(b"small")) == b"small"
