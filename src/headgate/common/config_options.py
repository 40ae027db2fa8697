"""Descriptions of configuration keys that a program declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar, final

from headgate import unsupported

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """A key, the type of its values, and its default value (None: no default)."""

    key: str
    value_type: type
    default_value: T | None = None


@final
class ConfigOptions:
    """Builds descriptions of keys.

    >>> ConfigOptions.key("retries").int_type().default_value(3)
    ConfigOption(key='retries', value_type=<class 'int'>, default_value=3)
    """

    def __init__(self, option_builder: ConfigOptions.OptionBuilder) -> None:
        self.option_builder = option_builder

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Begin the description of a key."""
        return ConfigOptions.OptionBuilder(key)

    @final
    @dataclass(frozen=True)
    class OptionBuilder:
        """A key whose type is not chosen yet."""

        key: str

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """Declare that values are true or false."""
            return ConfigOptions.TypedConfigOptionBuilder(self.key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Declare that values are whole numbers."""
            return ConfigOptions.TypedConfigOptionBuilder(self.key, int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Declare that values are whole numbers."""
            return self.int_type()

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Declare that values are numbers."""
            return ConfigOptions.TypedConfigOptionBuilder(self.key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Declare that values are numbers."""
            return self.float_type()

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Declare that values are text."""
            return ConfigOptions.TypedConfigOptionBuilder(self.key, str)

    @final
    @dataclass(frozen=True)
    class TypedConfigOptionBuilder(Generic[T]):
        """A key and its type; the default value is not chosen yet."""

        key: str
        value_type: type[T]

        def default_value(self, value: T) -> ConfigOption[T]:
            """Return the description of the key with a default value."""
            return ConfigOption(self.key, self.value_type, value)

        def no_default_value(self) -> ConfigOption[str]:
            """Return the description of the key without a default value."""
            return ConfigOption(self.key, self.value_type)


unsupported.guard(__name__, globals())
