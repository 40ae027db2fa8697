"""ExecutionConfig: settings of the execution. Each setter changes the program's Configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from headgate import unsupported
from headgate.common.configuration import Configuration
from headgate.options import JOB_PARAMETERS, MAX_PARALLELISM, OBJECT_REUSE, PARALLELISM, WATERMARK_INTERVAL

__all__ = ["ExecutionConfig"]


@final
class ExecutionConfig:
    """Settings of the execution. Each setter returns the config, so that calls can be chained."""

    PARALLELISM_DEFAULT: Final = -1
    """The parallelism that means "not set"."""
    PARALLELISM_UNKNOWN: Final = -2

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def get_parallelism(self) -> int:
        """Return the number of subtasks of operators without a parallelism of their own, or PARALLELISM_DEFAULT."""
        found = self._configuration.read(PARALLELISM)
        return self.PARALLELISM_DEFAULT if found is None else found

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the number of subtasks of each operator; with PARALLELISM_DEFAULT the deployment decides."""
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(PARALLELISM.key)
        else:
            self._configuration.write(PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups of operators without a max parallelism of their own; -1 if it is not set."""
        found = self._configuration.read(MAX_PARALLELISM)
        return -1 if found is None else found

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups (1 to 32768). It limits the number of subtasks for the life of the state."""
        self._configuration.write(MAX_PARALLELISM, max_parallelism)
        return self

    def get_auto_watermark_interval(self) -> int:
        """Return the milliseconds between periodic watermarks."""
        return self._configuration.read(WATERMARK_INTERVAL)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set the milliseconds between periodic watermarks."""
        self._configuration.write(WATERMARK_INTERVAL, interval)
        return self

    def enable_object_reuse(self) -> ExecutionConfig:
        """Let functions and state share records instead of copying them: no function may then change a record.

        This saves an inspection of each emitted record, and copies of records to which the function keeps a reference.
        """
        self._configuration.write(OBJECT_REUSE, True)
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Give each receiver of a record its own copy: the default."""
        self._configuration.write(OBJECT_REUSE, False)
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Return whether object reuse is enabled."""
        return self._configuration.read(OBJECT_REUSE)

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the parameters that functions read with `get_job_parameter`."""
        parameters = self._configuration.read(JOB_PARAMETERS)
        return dict(parameters)

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, object]) -> ExecutionConfig:
        """Set the parameters that functions read with `get_job_parameter`."""
        self._configuration.write(
            JOB_PARAMETERS, {key: str(value) for key, value in global_job_parameters_dict.items()}
        )
        return self

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Change nothing, with a warning: functions are pickled as they are."""
        return self._ignore("pipeline.closure-cleaner", value=True)

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Change nothing, with a warning: functions are pickled as they are."""
        return self._ignore("pipeline.closure-cleaner", value=False)

    def is_closure_cleaner_enabled(self) -> bool:
        """Return the value that was set."""
        return self._configuration.get_boolean("pipeline.closure-cleaner", True)

    def enable_force_kryo(self) -> ExecutionConfig:
        """Change nothing, with a warning: values travel as Python objects."""
        return self._ignore("pipeline.force-kryo", value=True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Change nothing, with a warning: values travel as Python objects."""
        return self._ignore("pipeline.force-kryo", value=False)

    def is_force_kryo_enabled(self) -> bool:
        """Return the value that was set."""
        return self._configuration.get_boolean("pipeline.force-kryo", False)

    def enable_force_avro(self) -> ExecutionConfig:
        """Change nothing, with a warning: values travel as Python objects."""
        return self._ignore("pipeline.force-avro", value=True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Change nothing, with a warning: values travel as Python objects."""
        return self._ignore("pipeline.force-avro", value=False)

    def is_force_avro_enabled(self) -> bool:
        """Return the value that was set."""
        return self._configuration.get_boolean("pipeline.force-avro", False)

    def enable_generic_types(self) -> ExecutionConfig:
        """Change nothing, with a warning: values travel as Python objects."""
        return self._ignore("pipeline.generic-types", value=True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Change nothing, with a warning: values travel as Python objects."""
        return self._ignore("pipeline.generic-types", value=False)

    def has_generic_types_disabled(self) -> bool:
        """Return the value that was set."""
        return not self._configuration.get_boolean("pipeline.generic-types", True)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Change nothing, with a warning: missing uids are always generated. Set the uid of operators with state."""
        return self._ignore("pipeline.auto-generate-uids", value=True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Change nothing, with a warning: missing uids are always generated. Set the uid of operators with state."""
        return self._ignore("pipeline.auto-generate-uids", value=False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Return the value that was set."""
        return self._configuration.get_boolean("pipeline.auto-generate-uids", True)

    def get_latency_tracking_interval(self) -> int:
        """Return the value that was set, in milliseconds."""
        return self._configuration.get_integer("metrics.latency.interval", 0)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Change nothing, with a warning: headgate has its own latency metrics."""
        return self._ignore("metrics.latency.interval", interval)

    def get_task_cancellation_interval(self) -> int:
        """Return the value that was set, in milliseconds."""
        return self._configuration.get_integer("task.cancellation.interval", 30000)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Change nothing, with a warning: Spark ends the tasks."""
        return self._ignore("task.cancellation.interval", interval)

    def get_task_cancellation_timeout(self) -> int:
        """Return the value that was set, in milliseconds."""
        return self._configuration.get_integer("task.cancellation.timeout", 180000)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Change nothing, with a warning: Spark ends the tasks."""
        return self._ignore("task.cancellation.timeout", timeout)

    def is_use_snapshot_compression(self) -> bool:
        """Return the value that was set."""
        return self._configuration.get_boolean("execution.checkpointing.snapshot-compression", False)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Change nothing, with a warning: files of RocksDB are compressed, others are not."""
        return self._ignore("execution.checkpointing.snapshot-compression", use_snapshot_compression)

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Return an empty dict: values travel as Python objects."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Return an empty list: values travel as Python objects."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Return an empty list: values travel as Python objects."""
        return []

    def _ignore(self, key: str, value: bool | int) -> ExecutionConfig:
        unsupported.ignored(key, "values travel as Python objects, and Spark keeps the processes")
        return self._note(key, value)

    def _note(self, key: str, value: bool | int) -> ExecutionConfig:
        self._configuration.set_string(key, str(value).lower())
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)


unsupported.guard(__name__, globals())
