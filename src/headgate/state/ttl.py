"""Time to live of state, as a program configures it, under PyFlink's names. What it does to values: `expiry`.

Classes that `StateTtlConfig` has as attributes have a second name here, with an underscore, for use in its body.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import ClassVar, TypeAlias, TypeVar, final

from headgate.errors import ProgramError
from headgate.types.instant import Duration, Time


class UpdateType(Enum):
    """When the time of the last access, from which the time to live counts, is set again."""

    Disabled = 0
    """There is no time to live."""

    OnCreateAndWrite = 1
    """When the state is written."""

    OnReadAndWrite = 2
    """When the state is written, and when it is read before it has expired."""


_UpdateType: TypeAlias = UpdateType


class StateVisibility(Enum):
    """Whether a program gets to see what has expired."""

    ReturnExpiredIfNotCleanedUp = 0
    """Yes, if it is still there. Reading it removes it, so it is seen once."""

    NeverReturnExpired = 1
    """No."""


_StateVisibility: TypeAlias = StateVisibility


class TtlTimeCharacteristic(Enum):
    """The clock that counts: there is the wall clock of the machine only."""

    ProcessingTime = 0


_TtlTimeCharacteristic: TypeAlias = TtlTimeCharacteristic


class Strategies(Enum):
    """Names of the ways to clean up."""

    FULL_STATE_SCAN_SNAPSHOT = 0
    INCREMENTAL_CLEANUP = 1
    ROCKSDB_COMPACTION_FILTER = 2


_Strategies: TypeAlias = Strategies


class CleanupStrategy:
    """Root of the settings of ways to clean up."""


_CleanupStrategy: TypeAlias = CleanupStrategy


@final
class EmptyCleanupStrategy(_CleanupStrategy):
    """A way to clean up that has no settings."""


_EmptyCleanupStrategy: TypeAlias = EmptyCleanupStrategy


@final
class IncrementalCleanupStrategy(_CleanupStrategy):
    """Check a few keys with each access to the state (hash map only)."""

    def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
        if not isinstance(cleanup_size, int) or cleanup_size < 0:
            raise ProgramError(f"cleanup_incrementally checks a number of keys that is 0 or more, not {cleanup_size!r}")
        self._cleanup_size = cleanup_size
        self._run_cleanup_for_every_record = bool(run_cleanup_for_every_record)

    def get_cleanup_size(self) -> int:
        """Return how many keys are checked with each access."""
        return self._cleanup_size

    def run_cleanup_for_every_record(self) -> bool:
        """Return whether keys are also checked with each record that does not access the state."""
        return self._run_cleanup_for_every_record


_IncrementalCleanupStrategy: TypeAlias = IncrementalCleanupStrategy


@final
class RocksdbCompactFilterCleanupStrategy(_CleanupStrategy):
    """Check all keys in the background, a piece at a time (RocksDB only)."""

    def __init__(self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None) -> None:
        self._query_time_after_num_entries = query_time_after_num_entries
        self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

    def get_query_time_after_num_entries(self) -> int:
        """Return after how many entries the clock is read again."""
        return self._query_time_after_num_entries

    def get_periodic_compaction_time(self) -> Duration:
        """Return how long a file may lie without being checked, zero for any time."""
        return self._periodic_compaction_time


_RocksdbCompactFilterCleanupStrategy: TypeAlias = RocksdbCompactFilterCleanupStrategy


_Configured: TypeAlias = Mapping[_Strategies, _CleanupStrategy]


@final
class CleanupStrategies:
    """The ways in which expired state is removed, besides being removed when it is read."""

    Strategies: TypeAlias = _Strategies
    CleanupStrategy: TypeAlias = _CleanupStrategy
    EmptyCleanupStrategy: TypeAlias = _EmptyCleanupStrategy
    IncrementalCleanupStrategy: TypeAlias = _IncrementalCleanupStrategy
    RocksdbCompactFilterCleanupStrategy: TypeAlias = _RocksdbCompactFilterCleanupStrategy
    EMPTY_STRATEGY: ClassVar[_EmptyCleanupStrategy] = _EmptyCleanupStrategy()

    def __init__(self, strategies: _Configured, is_cleanup_in_background: bool) -> None:
        self._strategies = dict(strategies)
        self._is_cleanup_in_background = is_cleanup_in_background

    def is_cleanup_in_background(self) -> bool:
        """Return whether a backend cleans up in its own way where nothing else is configured."""
        return self._is_cleanup_in_background

    def in_full_snapshot(self) -> bool:
        """Return whether expired state is left out of full snapshots. The state itself is not touched by that."""
        return _Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> _IncrementalCleanupStrategy | None:
        """Return how the hash map cleans up: by default 5 keys with each access. None when it does not."""
        default = _IncrementalCleanupStrategy(5, False) if self._is_cleanup_in_background else None
        found = self._strategies.get(_Strategies.INCREMENTAL_CLEANUP, default)
        return found if isinstance(found, _IncrementalCleanupStrategy) else None

    def get_rocksdb_compact_filter_cleanup_strategy(self) -> _RocksdbCompactFilterCleanupStrategy | None:
        """Return how RocksDB cleans up: by default reading the clock every 1000 entries. None when it does not."""
        default = _RocksdbCompactFilterCleanupStrategy(1000) if self._is_cleanup_in_background else None
        found = self._strategies.get(_Strategies.ROCKSDB_COMPACTION_FILTER, default)
        return found if isinstance(found, _RocksdbCompactFilterCleanupStrategy) else None


_CleanupStrategies: TypeAlias = CleanupStrategies


@final
class Builder:
    """Builds a `StateTtlConfig`; every method returns the builder."""

    def __init__(self, ttl: Time | Duration) -> None:
        self._ttl = ttl
        self._update_type = _UpdateType.OnCreateAndWrite
        self._state_visibility = _StateVisibility.NeverReturnExpired
        self._ttl_time_characteristic = _TtlTimeCharacteristic.ProcessingTime
        self._is_cleanup_in_background = True
        self._strategies: dict[_Strategies, _CleanupStrategy] = {}

    def set_update_type(self, update_type: _UpdateType) -> _Builder:
        """Set when the time of the last access is set again."""
        self._update_type = update_type
        return self

    def update_ttl_on_create_and_write(self) -> _Builder:
        """Count from the last write. This is the default."""
        return self.set_update_type(_UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> _Builder:
        """Count from the last read or write."""
        return self.set_update_type(_UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: _StateVisibility) -> _Builder:
        """Set whether expired state can be seen."""
        self._state_visibility = state_visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> _Builder:
        """Let expired state be seen once more."""
        return self.set_state_visibility(_StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> _Builder:
        """Hide expired state. This is the default."""
        return self.set_state_visibility(_StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(self, ttl_time_characteristic: _TtlTimeCharacteristic) -> _Builder:
        """Set the clock that counts."""
        self._ttl_time_characteristic = ttl_time_characteristic
        return self

    def use_processing_time(self) -> _Builder:
        """Count by the wall clock. This is the default, and there is no other."""
        return self.set_ttl_time_characteristic(_TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> _Builder:
        """Leave expired state out of full snapshots. Incremental ones are as they are."""
        self._strategies[_Strategies.FULL_STATE_SCAN_SNAPSHOT] = _CleanupStrategies.EMPTY_STRATEGY
        return self

    def cleanup_incrementally(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> _Builder:
        """On the hash map, check so many keys with each access to the state, or also with each record.

        Raises `ProgramError` for a negative number.
        """
        strategy = _IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
        self._strategies[_Strategies.INCREMENTAL_CLEANUP] = strategy
        return self

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
    ) -> _Builder:
        """On RocksDB, clean up in the background, also where `disable_cleanup_in_background` is called."""
        strategy = _RocksdbCompactFilterCleanupStrategy(query_time_after_num_entries, periodic_compaction_time)
        self._strategies[_Strategies.ROCKSDB_COMPACTION_FILTER] = strategy
        return self

    def disable_cleanup_in_background(self) -> _Builder:
        """Clean up in no way but those that are asked for by the other methods, and on read."""
        self._is_cleanup_in_background = False
        return self

    def set_ttl(self, ttl: Time | Duration) -> _Builder:
        """Set the time to live."""
        self._ttl = ttl
        return self

    def build(self) -> StateTtlConfig:
        """Return the configuration. Raises `ProgramError` when the time to live is not positive."""
        return StateTtlConfig(
            self._update_type,
            self._state_visibility,
            self._ttl_time_characteristic,
            self._ttl,
            _CleanupStrategies(self._strategies, self._is_cleanup_in_background),
        )


_Builder: TypeAlias = Builder


@final
class StateTtlConfig:
    """How long state lives after its last access, and what becomes of it then. Made by a builder.

    >>> config = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
    >>> config.get_ttl(), config.get_update_type().name
    (Time(3600000 ms), 'OnReadAndWrite')
    """

    UpdateType: TypeAlias = _UpdateType
    StateVisibility: TypeAlias = _StateVisibility
    TtlTimeCharacteristic: TypeAlias = _TtlTimeCharacteristic
    CleanupStrategies: TypeAlias = _CleanupStrategies
    Builder: TypeAlias = _Builder

    def __init__(
        self,
        update_type: _UpdateType,
        state_visibility: _StateVisibility,
        ttl_time_characteristic: _TtlTimeCharacteristic,
        ttl: Time | Duration,
        cleanup_strategies: _CleanupStrategies,
    ) -> None:
        self._update_type = _checked(update_type, _UpdateType)
        self._state_visibility = _checked(state_visibility, _StateVisibility)
        self._ttl_time_characteristic = _checked(ttl_time_characteristic, _TtlTimeCharacteristic)
        self._ttl = _positive(ttl)
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time | Duration) -> _Builder:
        """Return a builder. `build` raises `ProgramError` when the time to live is not positive."""
        return _Builder(ttl)

    def get_update_type(self) -> _UpdateType:
        """Return when the time of the last access is set again."""
        return self._update_type

    def get_state_visibility(self) -> _StateVisibility:
        """Return whether expired state can be seen."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """Return the time to live."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> _TtlTimeCharacteristic:
        """Return the clock that counts."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Return whether there is a time to live at all."""
        return self._update_type is not _UpdateType.Disabled

    def get_cleanup_strategies(self) -> _CleanupStrategies:
        """Return how expired state is removed."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return f"StateTtlConfig<{self._ttl}, {self._update_type.name}, {self._state_visibility.name}>"


_Choice = TypeVar("_Choice", bound=Enum)


def _checked(value: object, kind: type[_Choice]) -> _Choice:
    if isinstance(value, kind):
        return value
    names = ", ".join(choice.name for choice in kind)
    raise ProgramError(f"StateTtlConfig.{kind.__name__} must be one of {names}, not {value!r}")


def _positive(ttl: object) -> Time:
    length_ms = ttl.to_millis() if isinstance(ttl, Duration) else ttl.length_ms if isinstance(ttl, Time) else 0
    if length_ms <= 0:
        raise ProgramError(f"a time to live is a Time of more than 0 ms, for instance Time.hours(1), not {ttl!r}")
    return Time(length_ms)
