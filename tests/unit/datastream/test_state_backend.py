"""Backends as programs choose them."""

from __future__ import annotations

import pytest

from headgate.datastream import (
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    PredefinedOptions,
    RocksDBStateBackend,
)
from headgate.errors import ProgramError, UnsupportedError
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


def test_several_folders_are_refused() -> None:
    with pytest.raises(ProgramError, match="in one folder, not in 2"):
        EmbeddedRocksDBStateBackend().set_db_storage_paths("/a", "/b")


def test_options_for_other_disks_are_refused_in_words() -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_predefined_options(PredefinedOptions.DEFAULT)
    with pytest.raises(UnsupportedError, match=r"SPINNING_DISK_OPTIMIZED is not supported.*docs/backends.md"):
        backend.set_predefined_options(PredefinedOptions.SPINNING_DISK_OPTIMIZED)
    with pytest.raises(UnsupportedError, match="set_options"):
        backend.set_options("my.Factory")  # type: ignore[attr-defined]
