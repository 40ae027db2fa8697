"""The session: the environment that DataFrames of this process belong to, and the settings for a new one."""

from __future__ import annotations

import threading
from typing import Final, Self, final

from headgate.common.configuration import Configuration
from headgate.table.table_environment import EnvironmentSettings, TableEnvironment

_LOCK: Final = threading.RLock()


@final
class _Session:
    """The active environment, and the settings that wait for it. Guarded by `_LOCK`."""

    def __init__(self) -> None:
        self.environment: TableEnvironment | None = None
        self.waiting: dict[str, str] = {}


_session: Final = _Session()


def set_table_environment(env: TableEnvironment | None) -> None:
    """Set the environment of all DataFrames made from now on. With None, the next DataFrame makes a new environment.

    Raises TypeError for another value, and RuntimeError while settings of `config` wait for a new environment.
    """
    if env is not None and not isinstance(env, TableEnvironment):
        raise TypeError(f"set_table_environment() takes a TableEnvironment or None, not {env!r}")
    with _LOCK:
        if env is not None and _session.waiting:
            keys = ", ".join(_session.waiting)
            raise RuntimeError(
                f"config has values for a new environment ({keys}): set them with env.get_config() instead"
            )
        _session.environment = env


def get_table_environment() -> TableEnvironment | None:
    """Return the environment of new DataFrames; None if there is none yet."""
    return _session.environment


def get_or_create_table_environment() -> TableEnvironment:
    """Return the environment of new DataFrames. The first call makes it, with the values of `config`."""
    with _LOCK:
        if _session.environment is None:
            given = Configuration().set_string("execution.runtime-mode", "STREAMING")
            for key, value in _session.waiting.items():
                given.set_string(key, "STREAMING" if (key, value) == _AUTOMATIC else value)
            settings = EnvironmentSettings.new_instance().with_configuration(given).build()
            _session.environment = TableEnvironment.create(settings)
        return _session.environment


_AUTOMATIC: Final = ("execution.runtime-mode", "AUTOMATIC")


@final
class DataFrameConfig:
    """Settings, by Flink's keys, for the environment that the first DataFrame makes.

    >>> config.get("no.such.key", "nothing")
    'nothing'
    """

    def set(self, key: str, value: str) -> Self:
        """Set a key for the next environment.

        Raises TypeError unless both are strings, and RuntimeError once there is an environment: use its `get_config()`.
        """
        for name, given in (("key", key), ("value", value)):
            if not isinstance(given, str):
                raise TypeError(f"the {name} of a setting is a str, not {given!r}")
        with _LOCK:
            if _session.environment is not None:
                raise RuntimeError(
                    f"there is an environment already, which {key!r} cannot change: set it before the first DataFrame, "
                    "or with get_table_environment().get_config().set(...)"
                )
            _session.waiting[key] = value
        return self

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the value of a key in the environment, or for the next environment if there is none yet."""
        with _LOCK:
            if _session.environment is None:
                return _session.waiting.get(key, default)
            configuration = _session.environment.get_config().get_configuration()
            return configuration.get_string(key, "") if configuration.contains_key(key) else default


config: Final = DataFrameConfig()
"""Settings for the environment that the first DataFrame makes."""
