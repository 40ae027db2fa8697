"""Configuration: typed options, and the resolution of a job's settings.

The sources of a value are, strongest first: the program's `Configuration`, the command line (`-Dkey=value`), the Spark
conf (`spark.headgate.<key>`), the default of the option. This module reads no argv, files or environment variables:
callers pass the values.
"""

from __future__ import annotations

import difflib
import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, final

from headgate import unsupported
from headgate.config_kinds import ValueKind
from headgate.errors import ConfigError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_OWN_PREFIX: Final = "headgate."
_SPARK_PREFIX: Final = "spark.headgate."
_TYPO_SIMILARITY: Final = 0.9
"""Similarity to a known key from which an unknown key counts as a typo.

High, because many keys of Flink are similar.
"""
_FLINK_KEYS: Final = frozenset({"execution.checkpointing.force-unaligned", "state.backend.rocksdb.log.dir"})
"""Keys of Flink that are similar to a known key, but are not typos."""
_log = logging.getLogger(__name__)


@final
class SettingSource(Enum):
    """The source of a setting."""

    CODE = "the program's Configuration"
    COMMAND_LINE = "the command line"
    SPARK_CONF = "the Spark conf"
    DEFAULT = "the default"


@final
@dataclass(frozen=True, eq=False)  # No slots: calling Option[int](...) stores its type argument on the instance.
class Option(Generic[T_co]):
    """A configuration option: its key, its kind of value, its default, and its documentation.

    `aliases` are older names of the key; `minimum` is the smallest allowed value.
    """

    key: str
    kind: ValueKind[T_co]
    default: T_co
    doc: str
    aliases: tuple[str, ...] = ()
    minimum: int | None = None

    def parse(self, value: object, key: str, source: SettingSource) -> T_co:
        """Convert text or a Python value to the option's value. Raises ConfigError naming key and source."""
        try:
            parsed = self.kind.parse(value)
        except ValueError:
            raise ConfigError(f"{key} is {value!r} in {source.value}, but must be {self.kind.expected}") from None
        if self.minimum is not None and isinstance(parsed, (int, float)) and parsed < self.minimum:
            raise ConfigError(
                f"{key} is {value!r} in {source.value}, but must be at least {self.minimum}{self.kind.unit}"
            )
        return parsed


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a job: a value for each option. Immutable and picklable; `Settings()` has all defaults."""

    _given: Mapping[str, tuple[Any, SettingSource]] = field(default_factory=dict)
    """The parsed value and its source, by key."""
    others: Mapping[str, str] = field(default_factory=dict)
    """Values of keys without an option. Functions of the user can read them."""

    def get(self, option: Option[T]) -> T:
        """Return the option's value."""
        found = self._given.get(option.key)
        return option.default if found is None else found[0]

    def with_value(self, option: Option[T], value: T) -> Settings:
        """Return these settings with another value, whose source is the program."""
        return Settings({**self._given, option.key: (value, SettingSource.CODE)}, self.others)

    def source_of(self, option: Option[object]) -> SettingSource:
        """Return the source of the option's value."""
        found = self._given.get(option.key)
        return SettingSource.DEFAULT if found is None else found[1]

    def is_given(self, option: Option[object]) -> bool:
        """Return whether a source sets the option, even to its default."""
        return option.key in self._given


@final
class Registry:
    """All declared options, by key and by older names of keys."""

    def __init__(self, options: Iterable[Option[object]]) -> None:
        self.options: Final = tuple(options)
        by_name: dict[str, Option[object]] = {}
        for option in self.options:
            for name in (option.key, *option.aliases):
                if name in by_name:
                    raise ValueError(f"the key {name} is declared twice")
                by_name[name] = option
        self._by_name: Final = MappingProxyType(by_name)

    def find(self, key: str) -> Option[object] | None:
        """Return the option with this key or alias, None without one."""
        return self._by_name.get(key)

    def resolve(self, layers: Sequence[tuple[SettingSource, Mapping[str, object]]]) -> Settings:
        """Return the settings from the layers; the first layer is the strongest.

        Raises ConfigError for a wrong value, and for an unknown key that begins with `headgate.` or looks like a typo
        of a known key. Raises UnsupportedError for a key or value of Flink that headgate lacks. Other unknown keys are
        kept, with a warning in the log.
        """
        given: dict[str, tuple[object, SettingSource]] = {}
        others: dict[str, str] = {}
        for source, layer in layers:
            for option, (key, value) in self._declared(layer).items():
                given.setdefault(option.key, (option.parse(value, key, source), source))
            for key, value in layer.items():
                if key not in self._by_name:
                    self._check_unknown(key, value, source)
                    others.setdefault(key, str(value))
        return Settings(given, others)

    def _declared(self, layer: Mapping[str, object]) -> dict[Option[object], tuple[str, object]]:
        """Return the key and value of the layer for each option. The option's key overrides its aliases."""
        found: dict[Option[object], tuple[str, object]] = {}
        for key, value in layer.items():
            option = self._by_name.get(key)
            if option is not None and (option not in found or key == option.key):
                found[option] = (key, value)
        return found

    def _check_unknown(self, key: str, value: object, source: SettingSource) -> None:
        if key.startswith(_OWN_PREFIX):
            raise self.unknown_key(key, source)
        unsupported.check_option(key, value)
        if key not in _FLINK_KEYS and difflib.get_close_matches(key, self._by_name, n=1, cutoff=_TYPO_SIMILARITY):
            raise self.unknown_key(key, source)
        _warn_of_unknown(key, source)

    def unknown_key(self, key: str, source: SettingSource) -> ConfigError:
        """Return the error for an unknown key. It names the most similar key."""
        near = difflib.get_close_matches(key, self._by_name, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]}?" if near else "see the configuration page of the documentation"
        return ConfigError(f"unknown key {key} in {source.value}; {advice}")

    def from_spark_conf(self, conf: Mapping[str, str]) -> dict[str, str]:
        """Return the values of `spark.headgate.<key>`. <key> is a key of Flink, or a headgate key without `headgate.`.

        Raises ConfigError for any other key that begins with `spark.headgate.`.
        """
        found = {}
        for name, value in conf.items():
            if not name.startswith(_SPARK_PREFIX):
                continue
            short = name.removeprefix(_SPARK_PREFIX)
            key = next((candidate for candidate in (short, _OWN_PREFIX + short) if candidate in self._by_name), None)
            if key is None:
                unsupported.check_option(short, value)
                raise self._unknown_spark_key(short)
            found[key] = value
        return found

    def _unknown_spark_key(self, short: str) -> ConfigError:
        names = [key.removeprefix(_OWN_PREFIX) for key in self._by_name]
        near = difflib.get_close_matches(short, names, n=1, cutoff=0.5)
        advice = f"did you mean {_SPARK_PREFIX}{near[0]}?" if near else "see the configuration page"
        return ConfigError(f"unknown key {_SPARK_PREFIX}{short} in {SettingSource.SPARK_CONF.value}; {advice}")


def from_command_line(arguments: Sequence[str]) -> dict[str, str]:
    """Return the values of `-Dkey=value` and `-D key=value`. All other arguments are for the user's program.

    >>> from_command_line(["-Dparallelism.default=2", "-D", "pipeline.name=x", "--input", "file"])
    {'parallelism.default': '2', 'pipeline.name': 'x'}
    """
    found = {}
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-D"):
            continue
        pair = next(rest, "") if argument == "-D" else argument.removeprefix("-D")
        key, equals, value = pair.partition("=")
        if equals:
            found[key.strip()] = value
    return found


@functools.lru_cache(maxsize=1024)
def _warn_of_unknown(key: str, source: SettingSource) -> None:
    """Log a warning about a key. The cache makes it appear only once."""
    _log.warning("%s in %s means nothing to headgate and is ignored", key, source.value)
