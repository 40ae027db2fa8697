"""Backends as programs choose them."""

from __future__ import annotations

import pytest

from headgate.datastream import (
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    PredefinedOptions,
    RocksDBStateBackend,
)
from headgate.errors import IgnoredWarning
from headgate.options import CHECKPOINT_INCREMENTAL, ROCKSDB_LOCAL_DIR, STATE_BACKEND


def test_rocksdb_is_chosen_with_its_folder_and_incremental_checkpoints() -> None:
    backend = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True)
    backend.set_db_storage_paths("/mnt/nvme")
    assert backend.settings() == {
        STATE_BACKEND: "rocksdb",
        CHECKPOINT_INCREMENTAL: True,
        ROCKSDB_LOCAL_DIR: "/mnt/nvme",
    }
    assert backend.get_db_storage_paths() == ["/mnt/nvme"]
    assert backend.is_incremental_checkpoints_enabled()


def test_without_a_word_on_increments_the_option_decides() -> None:
    assert EmbeddedRocksDBStateBackend().settings() == {STATE_BACKEND: "rocksdb"}


def test_the_older_name_sets_the_folder_of_checkpoints_as_well() -> None:
    settings = RocksDBStateBackend("file:///checkpoints", True).settings()
    today = {
        **EmbeddedRocksDBStateBackend(True).settings(),
        **FileSystemCheckpointStorage("file:///checkpoints").settings(),
    }
    assert settings == today


def test_several_folders_share_the_databases() -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("/a", "/b")
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.settings()[ROCKSDB_LOCAL_DIR] == "/a,/b"


def test_options_of_javas_rocksdb_are_noted_with_a_warning() -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_predefined_options(PredefinedOptions.DEFAULT)
    with pytest.warns(IgnoredWarning, match="SPINNING_DISK_OPTIMIZED changes nothing here"):
        backend.set_predefined_options(PredefinedOptions.SPINNING_DISK_OPTIMIZED)
    with pytest.warns(IgnoredWarning, match="changes nothing here"):
        backend.set_options("my.Factory")
    with pytest.warns(IgnoredWarning, match="changes nothing here"):
        backend.set_number_of_transfer_threads(8)
    assert backend.get_predefined_options() is PredefinedOptions.SPINNING_DISK_OPTIMIZED
    assert (backend.get_options(), backend.get_number_of_transfer_threads()) == ("my.Factory", 8)
