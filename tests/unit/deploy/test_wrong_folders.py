"""Checkpoint folders that cannot be used: the first line says what is wrong with which."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headgate.checkpoint.file_store import in_plain_words
from headgate.errors import ConfigError, JobFailedError, StorageError
from tests.unit.datastream.environments import environment

KEYS = ("execution.checkpointing.dir", "headgate.storage.dir")


def first_line(location: str, kind: type[Exception], key: str = KEYS[0]) -> str:
    env = environment(execution__checkpointing__interval="1 h", **{key: location})
    env.from_collection([1]).map(str).print()
    with pytest.raises(kind) as raised:
        env.execute()
    return str(raised.value).splitlines()[0]


@pytest.mark.parametrize("below", ["", "/of/it"])
def test_a_file_where_a_folder_should_be(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("")
    told = first_line(f"{tmp_path}/file{below}", JobFailedError)
    assert f"{tmp_path}/file is a file, not a folder. Check" in told
    assert "execution.checkpointing.dir or headgate.storage.dir" in told


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_this_user_may_not_write_to(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    for location in (tmp_path / "locked", tmp_path / "locked/below"):
        assert f"this user may not write in {tmp_path}/locked. Check" in first_line(str(location), JobFailedError)


def test_permission_is_told_of_by_the_nearest_folder_that_is_there(tmp_path: Path) -> None:
    error = PermissionError(13, "Permission denied")
    told = in_plain_words(error, f"{tmp_path}/not/there/yet", "write")
    assert told == f"this user may not write in {tmp_path}"


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("location", ["", "  ", "s3:/bucket/checkpoints", "hdfs:checkpoints"])
def test_what_is_no_location_is_refused_by_its_key(location: str, key: str) -> None:
    told = first_line(location, ConfigError, key)
    assert told.startswith(f"{key} is {location!r} in the program's Configuration, but must be a folder such as")


@pytest.mark.parametrize("location", ["ftp://host/x", "s3a://bucket/x"])
def test_a_scheme_that_is_not_known_is_told_with_those_that_are(location: str) -> None:
    told = first_line(location, StorageError)
    assert told.startswith(f"cannot open checkpoint storage '{location}': Unrecognized filesystem type")
    assert "file:, s3:, gs:, abfs: or hdfs: URI" in told


def test_a_file_uri_and_a_relative_folder_are_locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for location in (f"file:{tmp_path}/a", f"file://{tmp_path}/b", "c", "./d:e"):
        env = environment(execution__checkpointing__interval="1 h", execution__checkpointing__dir=location)
        env.from_collection([1]).map(str).filter(lambda text: False).print()
        env.execute()
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", "c", "d:e"}
