"""What checkpoint storage on a local file system calls written is there after a loss of power, and whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import intents, ownership
from headgate.checkpoint.drivers.job_records import JobResult, write_result
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import encode
from headgate.checkpoint.seal import seal
from headgate.checkpoint.store import MemoryStore
from headgate.errors import StorageError
from headgate.ids import JobId
from headgate.job_status import JobStatus
from tests.power import NoPowerError, disk
from tests.unit.checkpoint.manifests import manifest

JOB = JobId("cd61")
FILES = {
    "_epoch/1-5f": b"",
    "chk-1/_metadata": b"manifest",
    "chk-1/a1-count-0-keyed": b"state" * 1000,
    "shared/1-a1-count-0-base": b"base",
}


def opened(folder: Path) -> FileSystemStore:
    return FileSystemStore.open(f"{folder}/new/checkpoints", JOB)


def contents(store: FileSystemStore) -> dict[str, bytes | None]:
    return {path: store.read(path) for path in store.list_files("")}


def test_what_was_written_is_there_after_a_loss_of_power(tmp_path: Path) -> None:
    with disk(tmp_path) as power:
        store = opened(tmp_path)
        for path, data in FILES.items():
            store.write(path, [data[:2], data[2:]])
        power.lose_power()
        assert contents(store) == FILES


def test_what_was_uploaded_is_there_after_a_loss_of_power(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "source").write_bytes(b"state" * 1000)
    with disk(tmp_path / "disk") as power:
        store = opened(tmp_path / "disk")
        handle = store.upload("shared/1-a1-count-0-000012.sst", tmp_path / "source")
        power.lose_power()
        store.download(handle, tmp_path / "target")
        assert (tmp_path / "target").read_bytes() == b"state" * 1000


def test_folders_that_another_process_has_just_made_are_made_durable_as_well(tmp_path: Path) -> None:
    with disk(tmp_path) as power:
        (tmp_path / "cd61/chk-1").mkdir(parents=True)
        store = FileSystemStore.open(str(tmp_path), JOB)
        store.write("chk-1/a1-claim", [b""])
        power.lose_power()
        assert contents(store) == {"chk-1/a1-claim": b""}


def test_what_was_deleted_does_not_come_back_with_the_power(tmp_path: Path) -> None:
    with disk(tmp_path) as power:
        store = opened(tmp_path)
        for path, data in FILES.items():
            store.write(path, [data])
        store.delete(["chk-1/_metadata"])
        power.lose_power()
        assert sorted(contents(store)) == sorted(FILES.keys() - {"chk-1/_metadata"})


@pytest.mark.parametrize("syncs", range(12))
def test_a_file_is_whole_or_not_there_whenever_the_power_goes(tmp_path: Path, syncs: int) -> None:
    with disk(tmp_path) as power:
        store = opened(tmp_path)
        power.power_left = syncs
        try:
            store.write("chk-1/_metadata", [b"mani", b"fest"])
            was_told = True
        except NoPowerError:
            was_told = False
        power.lose_power()
        assert store.read("chk-1/_metadata") in ([b"manifest"] if was_told else [None, b"manifest"])


def test_a_reader_never_sees_a_part_of_a_file(tmp_path: Path) -> None:
    store = opened(tmp_path)
    seen: list[bytes | None] = []

    def chunks() -> Iterable[bytes]:
        for chunk in (b"mani", b"fest"):
            seen.append(store.read("chk-1/_metadata"))
            yield chunk

    store.write("chk-1/_metadata", chunks())
    assert seen == [None, None]
    assert store.read("chk-1/_metadata") == b"manifest"


def test_a_file_that_is_being_written_is_listed_as_what_it_is_to_be(tmp_path: Path) -> None:
    store = opened(tmp_path)
    listed: list[str] = []

    def chunks() -> Iterable[bytes]:
        listed.extend(store.list_files(""))
        yield b"state"

    store.write("chk-1/a3-count-0-keyed", chunks())
    (path,) = listed
    assert path != "chk-1/a3-count-0-keyed" == paths.target_of(path)
    assert (paths.attempt_of(path), paths.checkpoint_of(path)) == (3, 1)
    assert store.list_files("") == ["chk-1/a3-count-0-keyed"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    store = opened(tmp_path)

    def chunks() -> Iterable[bytes]:
        yield b"a part"
        raise KeyError("user value")

    with pytest.raises(KeyError):
        store.write("chk-1/a", chunks())
    assert store.list_files("") == []


def test_of_two_writers_of_one_name_the_later_one_is_refused(tmp_path: Path) -> None:
    store = opened(tmp_path)

    def chunks() -> Iterable[bytes]:
        store.write("chk-1/_metadata", [b"of another driver"])
        yield b"of this one"

    with pytest.raises(StorageError, match="chk-1/_metadata exists already"):
        store.write("chk-1/_metadata", chunks())
    assert contents(store) == {"chk-1/_metadata": b"of another driver"}


@pytest.mark.parametrize("answer", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_file_systems_without_links_do_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: int) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr(os, "link", refuse)
    with disk(tmp_path) as power:
        store = opened(tmp_path)
        store.write("chk-1/a", [b"state"])
        with pytest.raises(StorageError, match="exists already"):
            store.write("chk-1/a", [b"other"])
        power.lose_power()
        assert contents(store) == {"chk-1/a": b"state"}


def test_file_systems_that_cannot_sync_folders_do_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def sync_files_only(file: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{file}"):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        sync(file)

    monkeypatch.setattr(os, "fsync", sync_files_only)
    store = opened(tmp_path)
    store.write("chk-1/a", [b"state"])
    assert store.read("chk-1/a") == b"state"


def test_a_file_whose_name_cannot_be_synced_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def fail_on_folders(file: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{file}"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(file)

    store = opened(tmp_path)
    store.write("chk-1/a", [b"state"])
    monkeypatch.setattr(os, "fsync", fail_on_folders)
    with pytest.raises(StorageError, match="Input/output error"):
        store.write("chk-1/_metadata", [b"manifest"])
    assert contents(store) == {"chk-1/a": b"state"}, "a driver that reads it back must not take it for stored"


def left_by_a_killed_driver(folder: Path, path: str, data: bytes) -> FileSystemStore:
    """A file that has its name, but is not on the disk."""
    file = folder / "cd61" / path
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    return FileSystemStore.open(str(folder), JOB)


def test_a_manifest_that_is_started_from_is_made_durable_first(tmp_path: Path) -> None:
    found = manifest(3)
    with disk(tmp_path) as power:
        store = left_by_a_killed_driver(tmp_path, "chk-3/_metadata", encode(found))
        ownership.attest_restored(store, found)
        power.lose_power()
        assert store.read("chk-3/_metadata") == encode(found)


def test_a_record_of_the_stop_is_made_durable_before_it_is_acted_upon(tmp_path: Path) -> None:
    stop = seal({"location": "/savepoints/1", "checkpoint_id": 3})
    with disk(tmp_path) as power:
        store = left_by_a_killed_driver(tmp_path, "_stopped/1-5f", stop)
        intents.attest_stop(store, ())
        power.lose_power()
        assert store.read("_stopped/1-5f") == stop


def test_a_result_that_is_found_is_made_durable_before_it_is_acted_upon(tmp_path: Path) -> None:
    result = JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=7)
    written = MemoryStore()
    write_result(written, result)
    with disk(tmp_path) as power:
        store = left_by_a_killed_driver(tmp_path, "_result", written.files["_result"])
        assert ownership.valid_result(store, ()) == result
        power.lose_power()
        assert ownership.valid_result(store, ()) == result


def test_a_disk_that_fails_is_an_error_that_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    store = opened(tmp_path)
    store.write("chk-1/a", [b"state"])
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match=r"cannot write .*/cd61/chk-1/b: .*Input/output error.*Check that"):
        store.write("chk-1/b", [b"state"])
