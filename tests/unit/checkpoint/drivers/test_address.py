"""Where drivers leave their addresses, who may read them, and what becomes of those left behind."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.address import (
    RUN_DIRECTORY,
    DriverAddress,
    RunDirectory,
    is_alive,
    read_address,
    remove_address,
    write_address,
)
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.store import MemoryStore
from headgate.errors import DamagedFileError, EnvironmentFault
from headgate.ids import JobId

ADDRESS = DriverAddress(
    job_id=JobId("ab" * 16),
    job_name="word-count",
    url="http://127.0.0.1:1234",
    token="secret",
    certificate=None,
    host="here",
    pid=os.getpid(),
    started_ms=5,
    storage=None,
)
GONE = 2**22 + 1
"""No process has this number: it is above what Linux gives out."""


def test_what_is_written_to_storage_is_read_and_removed() -> None:
    store = MemoryStore()
    path = write_address(store, ADDRESS)
    assert read_address(store) == ADDRESS
    remove_address(store, path)
    assert read_address(store) is None
    assert store.files == {}


def test_a_later_driver_takes_the_place_of_one_that_ended_badly() -> None:
    store = MemoryStore()
    write_address(store, ADDRESS)
    later = replace(ADDRESS, url="http://127.0.0.1:99")
    path = write_address(store, later)
    assert read_address(store) == later
    assert list(store.files) == [path]


def test_an_earlier_driver_that_ends_leaves_the_later_one_in_place() -> None:
    store = MemoryStore()
    earlier = write_address(store, ADDRESS)
    write_address(store, replace(ADDRESS, pid=2))
    remove_address(store, earlier)
    found = read_address(store)
    assert found is not None
    assert found.pid == 2


def test_an_address_that_is_being_written_is_none_yet() -> None:
    store = MemoryStore()
    whole = store.files.pop(write_address(store, ADDRESS))
    store.files[paths.temporary(paths.master_address(1, "aa"), "5f")] = whole
    assert read_address(store) is None


def test_a_torn_address_is_none_and_a_changed_one_is_damage() -> None:
    store = MemoryStore()
    path = write_address(store, ADDRESS)
    whole = store.files[path]
    store.files[path] = whole[:40]
    assert read_address(store) is None
    store.files[path] = whole.replace(b"1234", b"1235")
    with pytest.raises(DamagedFileError, match="_master"):
        read_address(store)


def test_nobody_else_can_enter_the_folder_of_addresses(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JobId("ab" * 16))
    store.make_private(paths.MASTERS)
    write_address(store, ADDRESS)
    assert (tmp_path / ("ab" * 16) / paths.MASTERS).stat().st_mode & 0o077 == 0


def test_the_token_does_not_show() -> None:
    assert "secret" not in f"{ADDRESS} {ADDRESS!r}"


def test_the_users_folder_is_private_and_gives_back_what_was_left(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    assert directory.read() == []
    directory.write(replace(ADDRESS, started_ms=9))
    other = replace(ADDRESS, job_id=JobId("cd" * 16))
    directory.write(other)
    assert directory.read() == [other, replace(ADDRESS, started_ms=9)]
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "run").iterdir()} == {0}
    directory.remove(other)
    assert len(directory.read()) == 1


def test_a_folder_that_others_can_enter_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o777)
    (tmp_path / "run").chmod(0o777)
    with pytest.raises(EnvironmentFault, match=RUN_DIRECTORY):
        RunDirectory(tmp_path / "run").read()


def test_addresses_of_dead_processes_go_unless_their_job_left_something(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.write(replace(ADDRESS, pid=GONE))
    directory.write(replace(ADDRESS, pid=GONE + 1, storage=str(tmp_path / "nothing there")))
    kept = replace(ADDRESS, job_id=JobId("cd" * 16), pid=GONE + 2, storage=str(tmp_path))
    directory.write(kept)
    directory.write(ADDRESS)
    assert sorted(address.pid for address in directory.read()) == sorted([ADDRESS.pid, kept.pid])


def test_a_driver_that_starts_a_job_again_takes_the_place_of_the_one_that_was_killed(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.write(replace(ADDRESS, pid=GONE, storage=str(tmp_path)))
    directory.write(replace(ADDRESS, storage=str(tmp_path)))
    directory.remove(ADDRESS)
    assert directory.read() == []


@pytest.mark.parametrize(
    ("own", "runtime", "expected"),
    [
        ("own", "runtime", "own"),
        ("own", None, "own"),
        (None, "runtime", "runtime/headgate"),
        ("", "runtime", "runtime/headgate"),
        (None, "not there", f"temporary/headgate-{os.getuid()}"),
        (None, "", f"temporary/headgate-{os.getuid()}"),
        (None, None, f"temporary/headgate-{os.getuid()}"),
    ],
)
def test_addresses_are_in_the_folder_that_the_environment_names(
    own: str | None, runtime: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("own", "runtime", "temporary"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for variable, value in ((RUN_DIRECTORY, own), ("XDG_RUNTIME_DIR", runtime)):
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, str(tmp_path / value) if value else "")
    RunDirectory.of_user().write(ADDRESS)
    assert RunDirectory(tmp_path / expected).read() == [ADDRESS]


def test_a_process_that_runs_a_job_again_leaves_its_newer_address(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.write(ADDRESS)
    again = replace(ADDRESS, url="http://127.0.0.1:4321")
    directory.write(again)
    assert directory.read() == [again]


def test_a_process_is_alive_or_not() -> None:
    assert is_alive(ADDRESS)
    assert not is_alive(replace(ADDRESS, pid=GONE))
