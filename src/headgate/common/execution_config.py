"""ExecutionConfig: how a program runs, in PyFlink's terms; it writes through to the program's Configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from headgate import unsupported
from headgate.common.configuration import Configuration
from headgate.options import JOB_PARAMETERS, MAX_PARALLELISM, PARALLELISM, WATERMARK_INTERVAL

__all__ = ["ExecutionConfig"]


@final
class ExecutionConfig:
    """Settings of the execution. Each setter returns the config, so that calls can be chained."""

    PARALLELISM_DEFAULT: Final = -1
    """Stands for "not set", where PyFlink has no other word for it."""
    PARALLELISM_UNKNOWN: Final = -2

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def get_parallelism(self) -> int:
        """Return the number of subtasks of each operator that has no number of its own, or PARALLELISM_DEFAULT."""
        found = self._configuration.read(PARALLELISM)
        return self.PARALLELISM_DEFAULT if found is None else found

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the number of subtasks of each operator; PARALLELISM_DEFAULT: the deployment decides."""
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(PARALLELISM.key)
        else:
            self._configuration.write(PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups of operators that have no number of their own, or -1 if it is not set."""
        found = self._configuration.read(MAX_PARALLELISM)
        return -1 if found is None else found

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups, the most subtasks that state can ever be spread over (1 to 32768)."""
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
        """Hand records on without copying them, which headgate always does."""
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Return True: records are never copied between operators of one slot."""
        return True

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


unsupported.guard(__name__, globals())
