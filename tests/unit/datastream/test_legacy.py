"""State backends by their older names do what the documents say of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream.checkpoint_storage import JobManagerCheckpointStorage
from headgate.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headgate.datastream.legacy import FsStateBackend, MemoryStateBackend, RocksDBStateBackend
from headgate.datastream.state_backend import HashMapStateBackend
from headgate.errors import IgnoredWarning
from headgate.options import SAVEPOINT_DIR
from tests.unit.datastream.environments import environment


@pytest.mark.parametrize(
    ("make", "of_state"),
    [
        (lambda uri: FsStateBackend(uri, file_state_size_threshold=0), "chk-*/*base*"),
        (lambda uri: RocksDBStateBackend(uri, True), "shared/*.sst"),
    ],
    ids=["hash map", "RocksDB"],
)
def test_a_backend_with_a_folder_keeps_checkpoints_there(
    make: Callable[[str], FsStateBackend | RocksDBStateBackend], of_state: str, tmp_path: Path
) -> None:
    env = environment(execution__checkpointing__interval="20 ms").set_state_backend(make(tmp_path.as_uri()))
    kept = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    env.get_checkpoint_config().set_externalized_checkpoint_retention(kept)
    source = DataGeneratorSource(lambda index: index, None, 1000)
    env.from_source(source, None, "numbers").key_by(lambda n: n % 3).reduce(max).filter(lambda _: False).print()
    job: Any = env.submit()
    while len(job.progress.checkpoints) < 2:
        assert job.wait(0.01) is None
    job.cancel()
    job.wait()
    [folder] = tmp_path.iterdir()
    assert len(list(folder.glob("chk-*/_metadata"))) == 1
    assert list(folder.glob(of_state)) != []


def test_a_memory_backend_keeps_state_in_memory_and_checkpoints_in_that_of_the_driver() -> None:
    today = {**HashMapStateBackend().settings(), **JobManagerCheckpointStorage(None, 1000).settings()}
    assert MemoryStateBackend(max_state_size=1000).settings() == today
    in_folder = {**HashMapStateBackend().settings(), **JobManagerCheckpointStorage("file:///x").settings()}
    assert MemoryStateBackend("file:///x").settings() == in_folder
    env = environment(execution__checkpointing__interval="10 ms").set_state_backend(MemoryStateBackend())
    counted = env.from_collection([*"abcab"]).key_by(lambda letter: letter).reduce(lambda one, other: one + other)
    assert sorted(counted.execute_and_collect()) == ["a", "aa", "b", "bb", "c"]


def test_a_backend_takes_the_arguments_of_its_time() -> None:
    in_memory = MemoryStateBackend(max_state_size=1000, using_asynchronous_snapshots=True)
    assert (in_memory.get_max_state_size(), MemoryStateBackend().get_max_state_size()) == (1000, 5 * 2**20)
    in_files = FsStateBackend("hdfs://host/chk", None, 100, 4096)
    assert in_files.get_checkpoint_path() == "hdfs://host/chk"
    assert (in_files.get_min_file_size_threshold(), in_files.get_write_buffer_size()) == (100, 4096)
    assert in_memory.is_using_asynchronous_snapshots()
    assert in_files.is_using_asynchronous_snapshots()


def test_snapshots_are_asynchronous_whatever_is_said_of_them() -> None:
    told = "using_asynchronous_snapshots=False changes nothing here: snapshots are asynchronous"
    with pytest.warns(IgnoredWarning, match=told):
        in_files = FsStateBackend("file:///x", using_asynchronous_snapshots=False)
    with pytest.warns(IgnoredWarning, match=told):
        MemoryStateBackend(using_asynchronous_snapshots=False)
    assert in_files.is_using_asynchronous_snapshots()


def test_a_folder_for_savepoints_is_an_option_of_its_own() -> None:
    assert FsStateBackend("file:///x", "file:///y").settings()[SAVEPOINT_DIR] == "file:///y"
    assert MemoryStateBackend(savepoint_path="file:///y").settings()[SAVEPOINT_DIR] == "file:///y"
    assert SAVEPOINT_DIR not in FsStateBackend("file:///x").settings()
