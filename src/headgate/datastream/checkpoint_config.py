"""CheckpointConfig: the settings of checkpoints. Each setter changes the program's Configuration."""

from __future__ import annotations

from typing import final

from headgate import unsupported
from headgate.common.configuration import Configuration
from headgate.common.time import Duration
from headgate.datastream.checkpointing_mode import CheckpointingMode
from headgate.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headgate.datastream.legacy import ExternalizedCheckpointCleanup, OlderCheckpointConfig
from headgate.options import (
    CHECKPOINT_INTERVAL,
    CHECKPOINT_MAX_CONCURRENT,
    CHECKPOINT_MIN_PAUSE,
    CHECKPOINT_MODE,
    CHECKPOINT_RETENTION,
    CHECKPOINT_TIMEOUT,
    CHECKPOINT_TOLERABLE_FAILURES,
    RECOVER_WITHOUT_CHANNEL_STATE,
    UNALIGNED,
    UNALIGNED_FORCED,
)

__all__ = ["CheckpointConfig", "ExternalizedCheckpointCleanup", "ExternalizedCheckpointRetention"]


@final
class CheckpointConfig(OlderCheckpointConfig):
    """The settings of checkpoints. Times are in milliseconds.

    Each setter returns the config. It raises ConfigError for a value of the wrong form, or below the minimum.

    >>> config = CheckpointConfig(Configuration()).set_checkpoint_interval(10_000).set_checkpoint_timeout(60_000)
    >>> config.get_checkpoint_interval(), config.get_checkpointing_mode()
    (10000, <CheckpointingMode.EXACTLY_ONCE: 0>)
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        """Return whether an interval is set."""
        return self._configuration.read(CHECKPOINT_INTERVAL) is not None

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the checkpointing mode; AT_LEAST_ONCE if checkpointing is disabled."""
        if not self.is_checkpointing_enabled():
            return CheckpointingMode.AT_LEAST_ONCE
        return CheckpointingMode[self._configuration.read(CHECKPOINT_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Set the checkpointing mode. With AT_LEAST_ONCE no channel waits for the barriers of others."""
        self._configuration.write(CHECKPOINT_MODE, checkpointing_mode.name)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the time between checkpoints, or -1 if checkpointing is disabled."""
        interval_ms = self._configuration.read(CHECKPOINT_INTERVAL)
        return -1 if interval_ms is None else interval_ms

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Set the time between checkpoints, at least 10 ms."""
        self._configuration.write(CHECKPOINT_INTERVAL, checkpoint_interval)
        return self

    def get_checkpoint_timeout(self) -> int:
        """Return the time after which an incomplete checkpoint is aborted."""
        return self._configuration.read(CHECKPOINT_TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Set the time after which an incomplete checkpoint is aborted, at least 10 ms."""
        self._configuration.write(CHECKPOINT_TIMEOUT, checkpoint_timeout)
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the minimum time between the end of a checkpoint and the start of the next."""
        return self._configuration.read(CHECKPOINT_MIN_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Set the minimum time between the end of a checkpoint and the start of the next."""
        self._configuration.write(CHECKPOINT_MIN_PAUSE, min_pause_between_checkpoints)
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """Return how many checkpoints may be in progress at one time."""
        return self._configuration.read(CHECKPOINT_MAX_CONCURRENT)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Set how many checkpoints may be in progress at one time."""
        self._configuration.write(CHECKPOINT_MAX_CONCURRENT, max_concurrent_checkpoints)
        return self

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return how many consecutive failed checkpoints the job tolerates."""
        return self._tolerable_failures()

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Set how many consecutive failed checkpoints the job tolerates; -1, as in older releases, means not set."""
        self._configuration.write(CHECKPOINT_TOLERABLE_FAILURES, tolerable_checkpoint_failure_number)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Return whether the last checkpoint may be kept after the job has ended."""
        kept = self.get_externalized_checkpoint_retention()
        return kept is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return whether the last checkpoint is kept when the job ends."""
        return ExternalizedCheckpointRetention[self._configuration.read(CHECKPOINT_RETENTION)]

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Set whether the last checkpoint is kept when the job ends."""
        self._configuration.write(CHECKPOINT_RETENTION, retention_mode.name)
        return self

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return whether barriers overtake batches. The checkpoint then contains the overtaken batches."""
        return self._configuration.read(UNALIGNED)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Set whether barriers overtake batches, so that checkpoints do not wait for slow functions."""
        self._configuration.write(UNALIGNED, enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Let barriers keep their place among batches."""
        return self.enable_unaligned_checkpoints(False)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return the value that was set. It changes nothing."""
        return self._configuration.read(UNALIGNED_FORCED)

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """Change nothing: unaligned checkpoints need not be forced, not even after `partition_custom`."""
        self._configuration.write(UNALIGNED_FORCED, force_unaligned_checkpoints)
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return the time after the trigger at which barriers of an unaligned checkpoint begin to overtake batches."""
        return self.get_alignment_timeout()

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Set the time after the trigger at which barriers of an unaligned checkpoint begin to overtake; 0: at once."""
        return self.set_alignment_timeout(alignment_timeout)

    def get_checkpoint_id_of_ignored_in_flight_data(self) -> int | None:
        """Return the id of the checkpoint whose overtaken batches a restore from it drops, or None."""
        return self._configuration.read(RECOVER_WITHOUT_CHANNEL_STATE)

    def set_checkpoint_id_of_ignored_in_flight_data(
        self, checkpoint_id_of_ignored_in_flight_data: int
    ) -> CheckpointConfig:
        """Drop the overtaken batches of this checkpoint when the job starts from it. Their records are lost."""
        self._configuration.write(RECOVER_WITHOUT_CHANNEL_STATE, checkpoint_id_of_ignored_in_flight_data)
        return self


unsupported.guard(__name__, globals())
