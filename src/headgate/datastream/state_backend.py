"""State backends: where keyed state lives while a job runs. docs/backends.md says which to choose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import final

from headgate import unsupported
from headgate.config import Option
from headgate.datastream.legacy import FsStateBackend, MemoryStateBackend, RocksDBStateBackend
from headgate.errors import ProgramError
from headgate.options import CHECKPOINT_INCREMENTAL, ROCKSDB_LOCAL_DIR, STATE_BACKEND

__all__ = [
    "EmbeddedRocksDBStateBackend",
    "FsStateBackend",
    "HashMapStateBackend",
    "MemoryStateBackend",
    "PredefinedOptions",
    "RocksDBStateBackend",
    "StateBackend",
]


class StateBackend(ABC):
    """Where keyed state lives while a job runs."""

    @abstractmethod
    def settings(self) -> dict[Option[object], object]:
        """Return the options that choose this backend."""


@final
class HashMapStateBackend(StateBackend):
    """Keyed state as Python objects in the memory of the slots."""

    def settings(self) -> dict[Option[object], object]:
        return {STATE_BACKEND: "hashmap"}


class PredefinedOptions(Enum):
    """Sets of RocksDB's options for kinds of disks: headgate has only its own, the default."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


@final
class EmbeddedRocksDBStateBackend(StateBackend):
    """Keyed state in RocksDB, on local disks of the workers; keys in use are in memory, too.

    Needs the extra `headgate[rocksdb]`. With `enable_incremental_checkpointing` a checkpoint writes only what the one
    before does not have; None leaves that to the option `execution.checkpointing.incremental`.
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = enable_incremental_checkpointing
        self._folder: str | None = None

    def settings(self) -> dict[Option[object], object]:
        settings: dict[Option[object], object] = {STATE_BACKEND: "rocksdb"}
        if self._incremental is not None:
            settings[CHECKPOINT_INCREMENTAL] = self._incremental
        if self._folder is not None:
            settings[ROCKSDB_LOCAL_DIR] = self._folder
        return settings

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return whether this object asks for incremental checkpoints."""
        return bool(self._incremental)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the folder on local disks of the workers. Raises ProgramError unless there is exactly one."""
        if len(paths) != 1:
            raise ProgramError(f"RocksDB has its files in one folder, not in {len(paths)}; give one")
        self._folder = paths[0]

    def get_db_storage_paths(self) -> list[str]:
        """Return the folder that was set, or nothing."""
        return [] if self._folder is None else [self._folder]

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Accept the default. Raises UnsupportedError for any other."""
        if options is not PredefinedOptions.DEFAULT:
            unsupported.refuse(f"datastream.state_backend.PredefinedOptions.{options.name}")

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the default."""
        return PredefinedOptions.DEFAULT


unsupported.guard(__name__, globals())
