"""Names of older PyFlink releases, in this one file; each does what its successor does.

The classes with today's names take the methods over from the mixins here; modules re-export the classes where older
programs import them from.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, Self, final

from headgate import unsupported
from headgate.common.configuration import Choice, Configuration
from headgate.config import Option
from headgate.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headgate.options import CHECKPOINT_DIR, CHECKPOINT_INLINE_THRESHOLD, CHECKPOINT_RETENTION, STATE_BACKEND

__all__ = [
    "ExternalizedCheckpointCleanup",
    "FsStateBackend",
    "MemoryStateBackend",
    "OlderCheckpointConfig",
    "OlderEnvironment",
    "TimeCharacteristic",
]

ExternalizedCheckpointCleanup: Final = ExternalizedCheckpointRetention
"""The name of ExternalizedCheckpointRetention before 2.0."""


class TimeCharacteristic(Enum):
    """The notion of time of a whole program, before every source had a watermark strategy."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2


@final
class MemoryStateBackend:
    """Keyed state in memory, checkpoints in the job's own storage: HashMapStateBackend with
    JobManagerCheckpointStorage. The arguments limited and tuned memory of Flink's that is not used here.
    """

    def __init__(self, max_state_size: int | None = None, using_asynchronous_snapshots: bool | None = None) -> None:
        self.max_state_size = max_state_size
        self.using_asynchronous_snapshots = using_asynchronous_snapshots

    def settings(self) -> dict[Option[Any], object]:
        """Return the options that choose this backend."""
        return {STATE_BACKEND: "hashmap", CHECKPOINT_DIR: None}


@final
class FsStateBackend:
    """Keyed state in memory, checkpoints in a folder or URI: HashMapStateBackend with FileSystemCheckpointStorage."""

    def __init__(self, checkpoint_directory_uri: str, file_state_size_threshold: int | None = None) -> None:
        self._directory = checkpoint_directory_uri
        self._threshold = file_state_size_threshold

    def get_checkpoint_path(self) -> str:
        """Return the folder or URI."""
        return self._directory

    def settings(self) -> dict[Option[Any], object]:
        """Return the options that choose this backend."""
        return {
            STATE_BACKEND: "hashmap",
            CHECKPOINT_DIR: self._directory,
            CHECKPOINT_INLINE_THRESHOLD: self._threshold,
        }


class OlderCheckpointConfig:
    """Methods of CheckpointConfig before 2.0."""

    _configuration: Configuration

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
        """Accept event time and processing time: what a program goes by follows from its watermark strategies."""
        if characteristic is TimeCharacteristic.IngestionTime:
            unsupported.refuse(f"datastream.time_characteristic.TimeCharacteristic.{characteristic.name}")
        self._time_characteristic = characteristic
        return self

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        """Return what was set, else processing time."""
        return self._time_characteristic
