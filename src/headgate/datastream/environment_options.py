"""The settings of an environment: they override the command line and the Spark conf."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Final, Self

from headgate import unsupported
from headgate.common.configuration import Configuration
from headgate.common.execution_config import ExecutionConfig
from headgate.config import Option, Settings
from headgate.datastream.checkpoint_config import CheckpointConfig
from headgate.datastream.checkpointing_mode import CheckpointingMode
from headgate.datastream.checks import check_positive, check_runtime_mode, check_timeout
from headgate.datastream.execution_mode import RuntimeExecutionMode
from headgate.datastream.slot_sharing_group import SlotSharingGroup
from headgate.deploy import choose
from headgate.deploy.arguments import command_line
from headgate.graph.logical import GraphDefaults
from headgate.options import (
    BUFFER_TIMEOUT,
    CHAINING,
    CHANGELOG,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_MODE,
    DEPLOY_TARGET,
    MAX_PARALLELISM,
    PARALLELISM,
    RUNTIME_MODE,
    SAVEPOINT_DIR,
    UNALIGNED,
    UNALIGNED_FORCED,
    resolve,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NO_JVM: Final = "records pass through no JVM; connectors are part of headgate"


class EnvironmentOptions:
    """The methods of StreamExecutionEnvironment that set an option or return its value.

    Setters return the environment, and raise ProgramError or ConfigError for an invalid value.
    """

    _configuration: Configuration
    _spark: SparkSession | None
    _local_parallelism: ClassVar[int | None] = None

    def configure(self, configuration: Configuration) -> None:
        """Set all values of `configuration`."""
        self._configuration.add_all(configuration)

    def get_config(self) -> ExecutionConfig:
        """Return the execution settings of this environment; its setters change the environment."""
        return ExecutionConfig(self._configuration)

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the checkpoint settings of this environment; its setters change the environment."""
        return CheckpointConfig(self._configuration)

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the parallelism (number of subtasks) of operators without a parallelism of their own."""
        check_positive("the parallelism", parallelism)
        return self._set(PARALLELISM, parallelism)

    def get_parallelism(self) -> int:
        """Return the parallelism of operators without a parallelism of their own."""
        return self._defaults(self._settings()).parallelism

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the max parallelism (number of key groups) of operators without a max parallelism of their own."""
        check_positive("the max parallelism", max_parallelism)
        return self._set(MAX_PARALLELISM, max_parallelism)

    def get_max_parallelism(self) -> int:
        """Return the max parallelism that was set; -1 if it is derived from the parallelism of each operator."""
        found = self._settings().get(MAX_PARALLELISM)
        return -1 if found is None else found

    def get_default_local_parallelism(self) -> int:
        """Return the default parallelism of jobs in this process: the value that was set, else the number of cores."""
        return self._local_parallelism or os.cpu_count() or 1

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the default parallelism of jobs in this process, for all environments."""
        check_positive("the parallelism", parallelism)
        EnvironmentOptions._local_parallelism = parallelism

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """Set how the program runs: STREAMING (the default), BATCH, or AUTOMATIC: BATCH if every source is bounded."""
        check_runtime_mode(execution_mode)
        return self._set(RUNTIME_MODE, execution_mode.name)

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Set how long a record may wait for its batch to fill, in milliseconds; 0 sends it at once."""
        check_timeout(timeout_millis)
        return self._set(BUFFER_TIMEOUT, f"{timeout_millis} ms")

    def get_buffer_timeout(self) -> int:
        """Return how long a record may wait for its batch to fill, in milliseconds."""
        return self._settings().get(BUFFER_TIMEOUT)

    def disable_operator_chaining(self) -> Self:
        """Do not chain operators: all records pass from one operator to the next through channels, which is slower."""
        return self._set(CHAINING, "false")

    def is_chaining_enabled(self) -> bool:
        """Return whether operators are chained where possible."""
        return self._settings().get(CHAINING)

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> Self:
        """Take a checkpoint every `interval` milliseconds, at least 10. Without `mode`, the mode does not change."""
        check_positive("the interval of checkpoints in milliseconds", interval)
        if mode is not None:
            self._set(CHECKPOINT_MODE, mode.name)
        return self._set(CHECKPOINT_INTERVAL, f"{interval} ms")

    def get_checkpoint_interval(self) -> int:
        """Return the time between checkpoints in milliseconds; -1, as in Flink, if checkpointing is disabled."""
        interval_ms = self._settings().get(CHECKPOINT_INTERVAL)
        return -1 if interval_ms is None else interval_ms

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the checkpointing mode; AT_LEAST_ONCE if checkpointing is disabled."""
        return self.get_checkpoint_config().get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Return the checkpointing mode, as `get_checkpointing_mode` does."""
        return self.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return whether barriers overtake batches."""
        return self._settings().get(UNALIGNED)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return the value that was set. It changes nothing."""
        return self._settings().get(UNALIGNED_FORCED)

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Set the folder or URI for savepoints that are requested without a folder."""
        return self._set(SAVEPOINT_DIR, directory)

    def get_default_savepoint_directory(self) -> str | None:
        """Return the folder or URI for savepoints that are requested without a folder, or None."""
        return self._settings().get(SAVEPOINT_DIR)

    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """Set whether changes of keyed state are written ahead of the barriers (`state.changelog.enabled`)."""
        return self._set(CHANGELOG, enabled)

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Return whether changes of keyed state are written ahead of the barriers, or None if it was not set."""
        settings = self._settings()
        return settings.get(CHANGELOG) if settings.is_given(CHANGELOG) else None

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Return False: such operators are never chained."""
        return False

    def add_jars(self, *jars_path: str) -> None:
        """Change nothing, with a warning: records pass through no JVM, and the connectors are part of headgate."""
        unsupported.ignored(f"add_jars{jars_path}", _NO_JVM)

    def add_classpaths(self, *classpaths: str) -> None:
        """Change nothing, with a warning: records pass through no JVM, and the connectors are part of headgate."""
        unsupported.ignored(f"add_classpaths{classpaths}", _NO_JVM)

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Change nothing, with a warning: each slot runs a subtask of every operator."""
        unsupported.ignored("register_slot_sharing_group()", "each slot runs a subtask of every operator")
        return self

    def _set(self, option: Option[object], value: object) -> Self:
        self._configuration.write(option, value)
        return self

    def _settings(self) -> Settings:
        return resolve(self._configuration.to_dict(), command_line(), choose.spark_conf(self._spark))

    def _defaults(self, settings: Settings) -> GraphDefaults:
        parallelism = settings.get(PARALLELISM)
        if parallelism is None and settings.get(DEPLOY_TARGET) == "minicluster":
            parallelism = self._local_parallelism
        return GraphDefaults(
            parallelism=choose.default_parallelism(settings, self._spark) if parallelism is None else parallelism,
            max_parallelism=settings.get(MAX_PARALLELISM),
            buffer_timeout_ms=settings.get(BUFFER_TIMEOUT),
            chaining=settings.get(CHAINING),
        )
