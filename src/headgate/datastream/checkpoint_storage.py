"""Checkpoint storage: where checkpoints are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, final

from headgate import unsupported
from headgate.config import Option
from headgate.options import CHECKPOINT_DIR, CHECKPOINT_INLINE_THRESHOLD, CHECKPOINT_STORAGE, MAX_STATE_SIZE

__all__ = ["CheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]


class CheckpointStorage(ABC):
    """Where checkpoints are written."""

    @abstractmethod
    def settings(self) -> dict[Option[object], object]:
        """Return the options that choose this storage; None means not set."""


@final
class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints in the memory of the driver, which also writes them to metadata files in `checkpoint_path`, if given.

    For small state: a checkpoint fails if one state of a subtask has more than `max_state_size` bytes. Without
    `checkpoint_path` the checkpoints are lost with the driver.
    """

    DEFAULT_MAX_STATE_SIZE: Final = 5 * 2**20

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        self._checkpoint_path = checkpoint_path
        self._max_state_size = max_state_size

    def get_checkpoint_path(self) -> str | None:
        """Return the folder or URI, or None for memory only."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Return None: the option `execution.checkpointing.savepoint-dir` sets the folder of savepoints."""
        return None

    def get_max_state_size(self) -> int:
        """Return the largest size in bytes of one state."""
        return self.DEFAULT_MAX_STATE_SIZE if self._max_state_size is None else self._max_state_size

    def settings(self) -> dict[Option[object], object]:
        return {
            CHECKPOINT_STORAGE: "jobmanager",
            CHECKPOINT_DIR: self._checkpoint_path,
            MAX_STATE_SIZE: self._max_state_size,
        }


@final
class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in a folder or URI that the driver and every slot can access.

    State smaller than `file_state_size_threshold` bytes is kept inside the metadata file. `write_buffer_size` changes
    nothing: files are written whole. Raises ValueError for an empty path, or a threshold above
    `MAX_FILE_STATE_THRESHOLD` bytes.
    """

    MAX_FILE_STATE_THRESHOLD: Final = 2**20
    DEFAULT_WRITE_BUFFER_SIZE: Final = 4096

    def __init__(
        self, checkpoint_path: str, file_state_size_threshold: int | None = None, write_buffer_size: int = -1
    ) -> None:
        if not checkpoint_path:
            raise ValueError("FileSystemCheckpointStorage needs a folder or URI, for instance file:///data/checkpoints")
        if file_state_size_threshold is not None and file_state_size_threshold > self.MAX_FILE_STATE_THRESHOLD:
            raise ValueError(
                f"file_state_size_threshold is {file_state_size_threshold}; "
                f"it must be at most {self.MAX_FILE_STATE_THRESHOLD} bytes"
            )
        self._checkpoint_path = checkpoint_path
        self._threshold = file_state_size_threshold
        self._write_buffer_size = write_buffer_size

    def get_checkpoint_path(self) -> str:
        """Return the folder or URI."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Return None: the option `execution.checkpointing.savepoint-dir` sets the folder of savepoints."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Return the size in bytes from which state is written to a separate file."""
        return CHECKPOINT_INLINE_THRESHOLD.default if self._threshold is None else self._threshold

    def get_write_buffer_size(self) -> int:
        """Return the size that was given, else Flink's default. It changes nothing."""
        return self.DEFAULT_WRITE_BUFFER_SIZE if self._write_buffer_size < 0 else self._write_buffer_size

    def settings(self) -> dict[Option[object], object]:
        return {
            CHECKPOINT_STORAGE: "filesystem",
            CHECKPOINT_DIR: self._checkpoint_path,
            CHECKPOINT_INLINE_THRESHOLD: self._threshold,
        }


unsupported.guard(__name__, globals())
