"""Configuration: typed options, and how the settings of a job are resolved.

An option's value comes from the first that gives one: the program's own `Configuration`, the command line
(`-Dkey=value`), the Spark conf (`spark.headgate.<key>`), the option's default. Nothing here reads argv, files or the
environment: callers pass them in.
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
"""How similar to a known key an unknown one has to be to count as a typo. High, as Flink has many similar keys."""
_FLINK_KEYS: Final = frozenset({"execution.checkpointing.force-unaligned", "state.backend.rocksdb.log.dir"})
"""Keys as similar to one of headgate's that are no typos: they exist in Flink."""
_log = logging.getLogger(__name__)


@final
class SettingSource(Enum):
    """Where a setting came from."""

    CODE = "the program's Configuration"
    COMMAND_LINE = "the command line"
    SPARK_CONF = "the Spark conf"
    DEFAULT = "the default"


@final
@dataclass(frozen=True, eq=False)  # No slots: calling Option[int](...) stores its type argument on the instance.
class Option(Generic[T_co]):
    """One thing that can be configured: its key, how its text is read, its default, and what it does.

    `aliases` are older names of the key; `minimum` is the least value allowed.
    """

    key: str
    kind: ValueKind[T_co]
    default: T_co
    doc: str
    aliases: tuple[str, ...] = ()
    minimum: int | None = None

    def parse(self, value: object, key: str, source: SettingSource) -> T_co:
        """Return the value of text or of a Python value. Raises ConfigError naming key and source."""
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
    """What a job runs with: one value for each option. Frozen and picklable; `Settings()` is all defaults."""

    _given: Mapping[str, tuple[Any, SettingSource]] = field(default_factory=dict)
    """Values by key, each of the type of its option, and where they came from."""
    others: Mapping[str, str] = field(default_factory=dict)
    """Keys that no option declares, kept for the user's functions to read."""

    def get(self, option: Option[T]) -> T:
        """Return the option's value."""
        found = self._given.get(option.key)
        return option.default if found is None else found[0]

    def with_value(self, option: Option[T], value: T) -> Settings:
        """Return these settings with another value, as if the program had given it."""
        return Settings({**self._given, option.key: (value, SettingSource.CODE)}, self.others)

    def source_of(self, option: Option[object]) -> SettingSource:
        """Return where the option's value came from."""
        found = self._given.get(option.key)
        return SettingSource.DEFAULT if found is None else found[1]

    def is_given(self, option: Option[object]) -> bool:
        """Whether the option was set anywhere, if only to its default."""
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
        """Return the option that has this key, or had it in an older release; None if there is none."""
        return self._by_name.get(key)

    def resolve(self, layers: Sequence[tuple[SettingSource, Mapping[str, object]]]) -> Settings:
        """Return the settings that the layers give; the first layer is the strongest.

        Raises ConfigError for a value of the wrong form, and for an unknown key that begins with `headgate.` or looks
        like a typo of a known one; UnsupportedError for a key or value of Flink's that headgate does not have. Any
        other unknown key is kept, with a warning in the log.
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
        """Return the layer's keys and values by option; an option's own key wins over its older ones."""
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
        """Return the error for a key that no option declares; it names the nearest key."""
        near = difflib.get_close_matches(key, self._by_name, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]}?" if near else "see the configuration page of the documentation"
        return ConfigError(f"unknown key {key} in {source.value}; {advice}")

    def from_spark_conf(self, conf: Mapping[str, str]) -> dict[str, str]:
        """Return the values of `spark.headgate.<key>`, where <key> is Flink's, or headgate's without its `headgate.`.

        Raises ConfigError for a key under `spark.headgate.` that is neither.
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
    """Return the values of `-Dkey=value` and `-D key=value`; all other arguments are left to the user's program.

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
    """Warn of a key: once, as the cache remembers it."""
    _log.warning("%s in %s means nothing to headgate and is ignored", key, source.value)
