"""State backends: where keyed state is kept while a job runs. docs/guides/backends.md compares them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Final, final

from headgate import unsupported
from headgate.config import Option
from headgate.datastream.legacy import FsStateBackend, MemoryStateBackend, RocksDBStateBackend
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

_OWN_OPTIONS: Final = "RocksDB is set up by the options of docs/guides/backends.md"


class StateBackend(ABC):
    """Where keyed state is kept while a job runs."""

    @abstractmethod
    def settings(self) -> dict[Option[object], object]:
        """Return the options that choose this backend."""


@final
class HashMapStateBackend(StateBackend):
    """Keyed state as Python objects in the memory of the slots."""

    def settings(self) -> dict[Option[object], object]:
        return {STATE_BACKEND: "hashmap"}


class PredefinedOptions(Enum):
    """Sets of RocksDB options for different disks. Any but DEFAULT is ignored, with a warning."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


@final
class EmbeddedRocksDBStateBackend(StateBackend):
    """Keyed state in RocksDB, on local disks of the workers; state of keys in use is also cached in memory.

    Needs the extra `headgate[rocksdb]`. With `enable_incremental_checkpointing` a checkpoint writes only the data that
    the previous checkpoint does not contain; with None the option `execution.checkpointing.incremental` decides.
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = enable_incremental_checkpointing
        self._folders: tuple[str, ...] = ()
        self._predefined = PredefinedOptions.DEFAULT
        self._transfer_threads = 4
        self._options: object = None

    def settings(self) -> dict[Option[object], object]:
        settings: dict[Option[object], object] = {STATE_BACKEND: "rocksdb"}
        if self._incremental is not None:
            settings[CHECKPOINT_INCREMENTAL] = self._incremental
        if self._folders:
            settings[ROCKSDB_LOCAL_DIR] = ",".join(self._folders)
        return settings

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return whether this object asks for incremental checkpoints."""
        return bool(self._incremental)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set folders on local disks of the workers; each database uses one of them. By default: a temporary folder."""
        self._folders = paths

    def get_db_storage_paths(self) -> list[str]:
        """Return the folders that were set."""
        return list(self._folders)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Change nothing, with a warning for any value but DEFAULT: docs/guides/backends.md lists the options."""
        if options is not PredefinedOptions.DEFAULT:
            unsupported.ignored(f"PredefinedOptions.{options.name}", _OWN_OPTIONS)
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the value that was set."""
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Change nothing, with a warning: headgate has no options factories."""
        unsupported.ignored("set_options()", _OWN_OPTIONS)
        self._options = options_factory_class_name

    def get_options(self) -> object:
        """Return the value that was set."""
        return self._options

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Change nothing, with a warning: files are written on the slot's I/O threads."""
        unsupported.ignored("set_number_of_transfer_threads()", "files are written on the I/O threads of the slot")
        self._transfer_threads = number_of_transfering_threads

    def get_number_of_transfer_threads(self) -> int:
        """Return the value that was set."""
        return self._transfer_threads


unsupported.guard(__name__, globals())
