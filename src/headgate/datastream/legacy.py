"""Classes and methods under the names of older PyFlink releases; each does what its successor does.

The classes with today's names inherit the older methods from the mixins here. The modules from which older programs
import the older classes re-export them.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Self, final

from headgate import unsupported
from headgate.common.configuration import Choice, Configuration
from headgate.common.time import Duration
from headgate.config import Option
from headgate.datastream.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from headgate.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headgate.options import (
    ALIGNED_TIMEOUT,
    CHECKPOINT_DIR,
    CHECKPOINT_FAIL_ON_ERRORS,
    CHECKPOINT_FORCED,
    CHECKPOINT_INCREMENTAL,
    CHECKPOINT_RETENTION,
    CHECKPOINT_STORAGE,
    CHECKPOINT_TOLERABLE_FAILURES,
    PREFER_CHECKPOINT,
    SAVEPOINT_DIR,
    STATE_BACKEND,
)

__all__ = [
    "ExternalizedCheckpointCleanup",
    "FsStateBackend",
    "MemoryStateBackend",
    "OlderCheckpointConfig",
    "OlderEnvironment",
    "RocksDBStateBackend",
    "TimeCharacteristic",
]

WITHOUT_END: Final = 2**31 - 1
"""Number of tolerable failed checkpoints that means "no limit"."""

ExternalizedCheckpointCleanup: Final = ExternalizedCheckpointRetention
"""The name of ExternalizedCheckpointRetention before 2.0."""


class TimeCharacteristic(Enum):
    """The notion of time of a whole program, before every source had a watermark strategy."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2


_ASYNCHRONOUS: Final = "snapshots are asynchronous, and still hold the state as it was at the barrier"


@final
class MemoryStateBackend:
    """Keyed state in memory, and checkpoints in the memory of the job master.

    HashMapStateBackend with JobManagerCheckpointStorage. `checkpoint_path` is a folder or URI for the checkpoints'
    metadata, `savepoint_path` a folder or URI for savepoints that are requested without a folder. `max_state_size`
    limits the bytes of one state in a checkpoint. Snapshots are asynchronous, whatever the program asks for.
    """

    def __init__(
        self,
        checkpoint_path: str | None = None,
        savepoint_path: str | None = None,
        max_state_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        if using_asynchronous_snapshots is False:
            unsupported.ignored("using_asynchronous_snapshots=False", _ASYNCHRONOUS)
        self._savepoint_path = savepoint_path
        self._storage = JobManagerCheckpointStorage(checkpoint_path, max_state_size)

    def get_max_state_size(self) -> int:
        """Return the largest size in bytes of one state in a checkpoint."""
        return self._storage.get_max_state_size()

    def is_using_asynchronous_snapshots(self) -> bool:
        """Return True: all snapshots are asynchronous."""
        return True

    def settings(self) -> dict[Option[object], object]:
        """Return the options that choose this backend."""
        return {STATE_BACKEND: "hashmap", **self._storage.settings(), **_savepoints(self._savepoint_path)}


@final
class FsStateBackend:
    """Keyed state in memory, checkpoints in a folder or URI.

    HashMapStateBackend with FileSystemCheckpointStorage; raises the same errors as FileSystemCheckpointStorage.
    Snapshots are asynchronous, whatever the program asks for.
    """

    def __init__(
        self,
        checkpoint_directory_uri: str,
        default_savepoint_directory_uri: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        if using_asynchronous_snapshots is False:
            unsupported.ignored("using_asynchronous_snapshots=False", _ASYNCHRONOUS)
        self._savepoint_path = default_savepoint_directory_uri
        buffer_bytes = -1 if write_buffer_size is None else write_buffer_size
        self._storage = FileSystemCheckpointStorage(checkpoint_directory_uri, file_state_size_threshold, buffer_bytes)

    def get_checkpoint_path(self) -> str:
        """Return the folder or URI."""
        return self._storage.get_checkpoint_path()

    def get_min_file_size_threshold(self) -> int:
        """Return the size in bytes from which state is written to a separate file."""
        return self._storage.get_min_file_size_threshold()

    def get_write_buffer_size(self) -> int:
        """Return the size that was given. It changes nothing."""
        return self._storage.get_write_buffer_size()

    def is_using_asynchronous_snapshots(self) -> bool:
        """Return True: all snapshots are asynchronous."""
        return True

    def settings(self) -> dict[Option[object], object]:
        """Return the options that choose this backend."""
        return {STATE_BACKEND: "hashmap", **self._storage.settings(), **_savepoints(self._savepoint_path)}


@final
class RocksDBStateBackend:
    """Keyed state in RocksDB, checkpoints in a folder or URI.

    EmbeddedRocksDBStateBackend with FileSystemCheckpointStorage.
    """

    def __init__(
        self, checkpoint_data_uri: str | None = None, enable_incremental_checkpointing: bool | None = None
    ) -> None:
        self._incremental = enable_incremental_checkpointing
        self._storage = None if checkpoint_data_uri is None else FileSystemCheckpointStorage(checkpoint_data_uri)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return whether this object asks for incremental checkpoints."""
        return bool(self._incremental)

    def settings(self) -> dict[Option[object], object]:
        """Return the options that choose this backend."""
        settings: dict[Option[object], object] = {STATE_BACKEND: "rocksdb"}
        if self._incremental is not None:
            settings[CHECKPOINT_INCREMENTAL] = self._incremental
        return settings if self._storage is None else {**settings, **self._storage.settings()}


def _savepoints(folder: str | None) -> dict[Option[object], object]:
    return {} if folder is None else {SAVEPOINT_DIR: folder}


class OlderCheckpointConfig:
    """Methods of CheckpointConfig before 2.0."""

    _configuration: Configuration

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Return whether the first failed checkpoint fails the job."""
        return self._tolerable_failures() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> Self:
        """Tolerate no failed checkpoint (True) or any number (False). Has no effect if the tolerable number is set."""
        self._configuration.write(CHECKPOINT_FAIL_ON_ERRORS, fail_on_checkpointing_errors)
        return self

    def _tolerable_failures(self) -> int:
        number = self._configuration.read(CHECKPOINT_TOLERABLE_FAILURES)
        if number >= 0 and self._configuration.contains_key(CHECKPOINT_TOLERABLE_FAILURES.key):
            return number
        return 0 if self._configuration.read(CHECKPOINT_FAIL_ON_ERRORS) else WITHOUT_END

    def is_prefer_checkpoint_for_recovery(self) -> bool:
        """Return whether a job restarts from its newest checkpoint even if it has completed a newer savepoint."""
        return self._configuration.read(PREFER_CHECKPOINT)

    def set_prefer_checkpoint_for_recovery(self, prefer_checkpoint_for_recovery: bool) -> Self:
        """Set whether a job restarts from its newest checkpoint even if it has completed a newer savepoint."""
        self._configuration.write(PREFER_CHECKPOINT, prefer_checkpoint_for_recovery)
        return self

    def is_force_checkpointing(self) -> bool:
        """Return whether due checkpoints ignore the limit of concurrent checkpoints and the minimum pause."""
        return self._configuration.read(CHECKPOINT_FORCED)

    def set_force_checkpointing(self, force_checkpointing: bool) -> Self:
        """Set whether due checkpoints ignore the limit of concurrent checkpoints and the minimum pause.

        Unaligned checkpoints always respect both.
        """
        self._configuration.write(CHECKPOINT_FORCED, force_checkpointing)
        return self

    def set_alignment_timeout(self, alignment_timeout: Duration) -> Self:
        """Older name of `set_aligned_checkpoint_timeout`."""
        self._configuration.write(ALIGNED_TIMEOUT, alignment_timeout.to_millis())
        return self

    def get_alignment_timeout(self) -> Duration:
        """Older name of `get_aligned_checkpoint_timeout`."""
        return Duration.of_millis(self._configuration.read(ALIGNED_TIMEOUT))

    def enable_externalized_checkpoints(self, cleanup_mode: ExternalizedCheckpointRetention) -> Self:
        """Older name of `set_externalized_checkpoint_retention`."""
        self._configuration.write(CHECKPOINT_RETENTION, cleanup_mode.name)
        return self

    set_externalized_checkpoint_cleanup = enable_externalized_checkpoints

    def get_externalized_checkpoint_cleanup(self) -> ExternalizedCheckpointRetention:
        """Older name of `get_externalized_checkpoint_retention`."""
        return ExternalizedCheckpointRetention[self._configuration.read(CHECKPOINT_RETENTION)]

    def set_checkpoint_storage(self, storage: Choice) -> Self:
        """Choose where checkpoints are written; today the option `execution.checkpointing.dir`."""
        self._configuration.apply(storage)
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> Self:
        """Set the folder or URI for checkpoints; today the option `execution.checkpointing.dir`."""
        self._configuration.write(CHECKPOINT_STORAGE, "filesystem")
        self._configuration.write(CHECKPOINT_DIR, checkpoint_path)
        return self


class OlderEnvironment:
    """Methods of StreamExecutionEnvironment before 2.0."""

    _configuration: Configuration
    _time_characteristic = TimeCharacteristic.ProcessingTime

    def set_state_backend(self, state_backend: Choice) -> Self:
        """Choose the state backend; today the option `state.backend.type`."""
        self._configuration.apply(state_backend)
        return self

    def set_restart_strategy(self, restart_strategy_configuration: Choice) -> Self:
        """Choose the restart strategy; today the option `restart-strategy.type`."""
        self._configuration.apply(restart_strategy_configuration)
        return self

    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> Self:
        """Accept event time and processing time, and change nothing: watermark strategies determine the time.

        Raises UnsupportedError for ingestion time.
        """
        if characteristic is TimeCharacteristic.IngestionTime:
            unsupported.refuse(f"datastream.time_characteristic.TimeCharacteristic.{characteristic.name}")
        self._time_characteristic = characteristic
        return self

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        """Return the characteristic that was set, else processing time."""
        return self._time_characteristic
