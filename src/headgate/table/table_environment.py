"""The environment of DataFrames: their settings, and where their jobs run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headgate import unsupported
from headgate.common.configuration import Configuration
from headgate.errors import ConfigError
from headgate.options import BATCH_RECORDS, LOCAL_TIME_ZONE, RUNTIME_MODE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headgate.datastream.stream_execution_environment import StreamExecutionEnvironment

_ROWS: Final = 8192
"""Rows of a full batch. A call of a kernel costs a microsecond, whatever the number of rows."""


@final
class EnvironmentSettings:
    """Settings of a `TableEnvironment`."""

    def __init__(self, configuration: Configuration) -> None:
        """Use `in_streaming_mode`, `in_batch_mode` or `new_instance`."""
        self._configuration = Configuration(configuration)

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Return settings for jobs that run as streams."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Return settings for jobs in batch mode, whose input ends."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Return a builder of settings."""
        return EnvironmentSettings.Builder()

    def get_configuration(self) -> Configuration:
        """Return a copy of the settings."""
        return Configuration(self._configuration)

    def is_streaming_mode(self) -> bool:
        """Whether jobs run as streams."""
        return self._configuration.read(RUNTIME_MODE) != "BATCH"

    @final
    class Builder:
        """Builds settings; each method returns the builder."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def with_configuration(self, config: Configuration) -> Self:
            """Add settings."""
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> Self:
            """Run jobs in batch mode."""
            self._configuration.write(RUNTIME_MODE, "BATCH")
            return self

        def in_streaming_mode(self) -> Self:
            """Run jobs as streams."""
            self._configuration.write(RUNTIME_MODE, "STREAMING")
            return self

        def build(self) -> EnvironmentSettings:
            """Return the settings."""
            return EnvironmentSettings(self._configuration)


@final
class TableConfig:
    """The settings of an environment, by their keys."""

    def __init__(self, configuration: Configuration) -> None:
        """Use `TableEnvironment.get_config`."""
        self._configuration = configuration

    def set(self, key: str, value: str) -> Self:
        """Set a key to text."""
        self._configuration.set_string(key, value)
        return self

    def get(self, key: str, default_value: str) -> str:
        """Return the value of a key as text."""
        return self._configuration.get_string(key, default_value)

    def get_configuration(self) -> Configuration:
        """Return the settings; its setters change the environment."""
        return self._configuration

    def get_local_timezone(self) -> str:
        """Return the time zone of the session. Raises ConfigError for a zone that does not exist."""
        return zone_of(self._configuration)

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the time zone of the session, such as "Asia/Tokyo"."""
        self._configuration.write(LOCAL_TIME_ZONE, timezone_id)


def zone_of(configuration: Configuration) -> str:
    """Return the time zone of a session. Raises ConfigError for a zone that does not exist."""
    zone = configuration.read(LOCAL_TIME_ZONE)
    if zone == LOCAL_TIME_ZONE.default:
        return _zone_of_machine()
    try:
        return ZoneInfo(zone).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            f"{LOCAL_TIME_ZONE.key} is {zone!r}, which is no time zone here: use a name such as Europe/Berlin, or UTC"
        ) from None


def _zone_of_machine() -> str:
    named = os.environ.get("TZ", "").lstrip(":")
    _, found, linked = str(Path("/etc/localtime").resolve()).rpartition("/zoneinfo/")
    for zone in (named, linked if found else ""):
        try:
            return ZoneInfo(zone).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return "UTC"


@final
class TableEnvironment:
    """Holds the settings of DataFrames. Each action of a DataFrame runs a job with these settings.

    >>> environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> environment.get_config().set("parallelism.default", "2").get("parallelism.default", "1")
    '2'
    """

    def __init__(self, configuration: Configuration, spark: SparkSession | None = None) -> None:
        """Use `create`."""
        self._configuration = configuration
        self._spark = spark

    @staticmethod
    def create(
        environment_settings: EnvironmentSettings | Configuration, spark: SparkSession | None = None
    ) -> TableEnvironment:
        """Return an environment. Jobs run on the session `spark`, as in `StreamExecutionEnvironment`."""
        if isinstance(environment_settings, EnvironmentSettings):
            return TableEnvironment(environment_settings.get_configuration(), spark)
        if not isinstance(environment_settings, Configuration):
            raise TypeError(f"create() takes EnvironmentSettings or a Configuration, not {environment_settings!r}")
        return TableEnvironment(Configuration(environment_settings), spark)

    def get_config(self) -> TableConfig:
        """Return the settings; its setters change the environment."""
        return TableConfig(self._configuration)

    def stream_environment(self) -> StreamExecutionEnvironment:
        """Return a new environment for one job. Its batches are large, unless their size is set."""
        from headgate.datastream import stream_execution_environment as streams  # noqa: PLC0415  # loads all operators

        configuration = Configuration(self._configuration)
        if not configuration.contains_key(BATCH_RECORDS.key):
            configuration.write(BATCH_RECORDS, _ROWS)
        return streams.StreamExecutionEnvironment.get_execution_environment(configuration, self._spark)


unsupported.guard(__name__, globals())
