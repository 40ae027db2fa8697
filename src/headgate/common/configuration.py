"""Configuration: the keys and values that a program sets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeVar, final

from headgate import unsupported
from headgate.config import Option, SettingSource
from headgate.config_kinds import BOOLEAN, INTEGER, NUMBER
from headgate.errors import ConfigError

__all__ = ["Choice", "Configuration"]

T = TypeVar("T")

_ITEM: Final = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,\s][^,]*)""")
"""An item of a list in brackets; an item that contains commas is in quotes."""


class Choice(Protocol):
    """Something that a program chooses as a whole, such as a state backend or a restart strategy."""

    def settings(self) -> Mapping[Option[Any], object]:
        """Return the options that the choice sets; None means not set."""
        ...


@final
class Configuration:
    """Keys and values. Values that a program sets here override the command line and the Spark conf.

    Values are checked when a setting object such as ExecutionConfig sets them, when they are read, or at the latest
    when the job is executed.

    >>> Configuration().set_string("parallelism.default", "2").get_integer("parallelism.default", 1)
    2
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Any] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:
        """Return a configuration of the mapping's keys and values."""
        made = cls()
        made._values.update(map)
        return made

    def read(self, option: Option[T]) -> T:
        """Return the option's value in this configuration, under its key or an older name, else its default.

        Raises ConfigError when the value has the wrong form.
        """
        for key in (option.key, *option.aliases):
            if key in self._values:
                return option.parse(self._values[key], key, SettingSource.CODE)
        return option.default

    def write(self, option: Option[T], value: object) -> None:
        """Set the option. Raises ConfigError when the value has the wrong form or is too small."""
        option.parse(value, option.key, SettingSource.CODE)
        self._values[option.key] = value

    def apply(self, choice: Choice) -> None:
        """Set the options of the choice. Raises ConfigError if `choice` is no choice or one of its values is wrong."""
        if not hasattr(choice, "settings"):
            raise ConfigError(
                f"{choice!r} is a {type(choice).__name__} and not a choice: pass an object such as "
                "FileSystemCheckpointStorage(path), HashMapStateBackend() or RestartStrategies.no_restart()"
            )
        for option, value in choice.settings().items():
            if value is None:
                self.remove_config(option.key)
            else:
                self.write(option, value)

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """Return the items of a list, written as `[a, b]`, as `a;b`, or with a line `- a` for each item.

        >>> Configuration.parse_list_value("[a, 'b, c']"), Configuration.parse_list_value("a;b")
        (['a', 'b, c'], ['a', 'b'])
        """
        text = value.strip() if value else ""
        if text.startswith("[") and text.endswith("]"):
            items = _ITEM.findall(text[1:-1])
        elif text.startswith("- "):
            items = [line.strip().removeprefix("- ") for line in text.splitlines()]
        else:
            return text.split(";") if text else []
        return [item.strip().strip("'\"") for item in items]

    def get_string(self, key: str, default_value: str) -> str:
        """Return the key's value as text, or the default."""
        return _text(self._values[key]) if key in self._values else default_value

    def set_string(self, key: str, value: str) -> Configuration:
        """Set the key to text."""
        return self._set(key, value)

    def get_integer(self, key: str, default_value: int) -> int:
        """Return the key's value as a whole number, or the default. Raises ConfigError for any other value."""
        return self.read(Option[int](key, INTEGER, default_value, ""))

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set the key to a whole number."""
        return self._set(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """Return the key's value as true or false, or the default. Raises ConfigError for any other value."""
        return self.read(Option[bool](key, BOOLEAN, default_value, ""))

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set the key to true or false."""
        return self._set(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        """Return the key's value as a number, or the default. Raises ConfigError for any other value."""
        return float(self.read(Option[float](key, NUMBER, default_value, "")))

    def set_float(self, key: str, value: float) -> Configuration:
        """Set the key to a number."""
        return self._set(key, value)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """Return the key's bytes, or the default. Raises ConfigError if the value is not bytes."""
        found = self._values.get(key, default_value)
        if not isinstance(found, (bytes, bytearray)):
            raise ConfigError(f"{key} is {found!r}; get_bytearray() only reads values that set_bytearray() has set")
        return bytearray(found)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set the key to bytes."""
        return self._set(key, bytes(value))

    def _set(self, key: str, value: Any) -> Configuration:
        self._values[key] = value
        return self

    def key_set(self) -> set[str]:
        """Return all keys."""
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        """Return whether the key has a value."""
        return key in self._values

    def remove_config(self, key: str) -> bool:
        """Remove the key; return whether it had a value."""
        return self._values.pop(key, None) is not None

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Add all keys and values of the other configuration, with `prefix` before each key."""
        for key, value in other._values.items():
            self._values[f"{prefix or ''}{key}"] = value
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Add all keys and values to the dict."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """Return all keys and values as text."""
        return {key: _text(value) for key, value in self._values.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._typed() == other._typed()

    def _typed(self) -> dict[str, tuple[type, Any]]:
        return {key: (type(value), value) for key, value in self._values.items()}

    def __hash__(self) -> int:
        """Return a hash of the current values: do not change a configuration that is a key of a dict."""
        return hash(frozenset(self.to_dict().items()))

    def __str__(self) -> str:
        """Return all keys and values in the notation of a Java map.

        >>> print(Configuration().set_string("pipeline.name", "a job").set_integer("parallelism.default", 2))
        {pipeline.name=a job, parallelism.default=2}
        """
        return "{" + ", ".join(f"{key}={value}" for key, value in self.to_dict().items()) + "}"

    def __repr__(self) -> str:
        return f"Configuration.from_dict({self.to_dict()!r})"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, dict) else str(value)


unsupported.guard(__name__, globals())
