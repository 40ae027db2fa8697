"""Descriptions of configuration keys that a program declares for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar, final

from headgate import unsupported

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """A key, the type of its values, and its default (None: there is none)."""

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
        """A key whose type is still to be said."""

        key: str

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """True or false."""
            return ConfigOptions.TypedConfigOptionBuilder(self.key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """A whole number."""
            return ConfigOptions.TypedConfigOptionBuilder(self.key, int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """A whole number."""
            return self.int_type()

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """A number."""
            return ConfigOptions.TypedConfigOptionBuilder(self.key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """A number."""
            return self.float_type()

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Text."""
            return ConfigOptions.TypedConfigOptionBuilder(self.key, str)

    @final
    @dataclass(frozen=True)
    class TypedConfigOptionBuilder(Generic[T]):
        """A key and its type; the default is still to be said."""

        key: str
        value_type: type[T]

        def default_value(self, value: T) -> ConfigOption[T]:
            """End the description with a default."""
            return ConfigOption(self.key, self.value_type, value)

        def no_default_value(self) -> ConfigOption[str]:
            """End the description without a default."""
            return ConfigOption(self.key, self.value_type)


unsupported.guard(__name__, globals())
