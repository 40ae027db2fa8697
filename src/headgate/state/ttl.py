"""The time to live of state, as a program configures it, under PyFlink's names. `kinds/lifetime.py` applies it.

Classes that are attributes of `StateTtlConfig` have a second name here, with an underscore, for use in its body.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import ClassVar, TypeAlias, TypeVar, final

from headgate.errors import ProgramError
from headgate.types.instant import Duration, Time


class UpdateType(Enum):
    """Which accesses reset the time of the last access. The time to live counts from that time."""

    Disabled = 0
    """The state has no time to live."""

    OnCreateAndWrite = 1
    """Writes reset the time."""

    OnReadAndWrite = 2
    """Writes reset the time, and so do reads of a value that has not expired."""


_UpdateType: TypeAlias = UpdateType


class StateVisibility(Enum):
    """Whether a read may return an expired value."""

    ReturnExpiredIfNotCleanedUp = 0
    """A read returns an expired value that has not been removed yet, and removes it. So it is returned once."""

    NeverReturnExpired = 1
    """A read never returns an expired value."""


_StateVisibility: TypeAlias = StateVisibility


class TtlTimeCharacteristic(Enum):
    """The clock that measures the time to live. Only the wall clock of the machine is supported."""

    ProcessingTime = 0


_TtlTimeCharacteristic: TypeAlias = TtlTimeCharacteristic


class Strategies(Enum):
    """The names of the clean-up strategies."""

    FULL_STATE_SCAN_SNAPSHOT = 0
    INCREMENTAL_CLEANUP = 1
    ROCKSDB_COMPACTION_FILTER = 2


_Strategies: TypeAlias = Strategies


class CleanupStrategy:
    """Base class of the settings of a clean-up strategy."""


_CleanupStrategy: TypeAlias = CleanupStrategy


@final
class EmptyCleanupStrategy(_CleanupStrategy):
    """A clean-up strategy without settings."""


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
        """Return the number of keys that each access checks."""
        return self._cleanup_size

    def run_cleanup_for_every_record(self) -> bool:
        """Return whether records that do not access the state also check keys."""
        return self._run_cleanup_for_every_record


_IncrementalCleanupStrategy: TypeAlias = IncrementalCleanupStrategy


@final
class RocksdbCompactFilterCleanupStrategy(_CleanupStrategy):
    """Check all keys in the background, some at a time (RocksDB only)."""

    def __init__(self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None) -> None:
        self._query_time_after_num_entries = query_time_after_num_entries
        self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

    def get_query_time_after_num_entries(self) -> int:
        """Return the number of entries after which the clock is read again. It has no effect here."""
        return self._query_time_after_num_entries

    def get_periodic_compaction_time(self) -> Duration:
        """Return the time after which an unchecked file is compacted; zero disables it. It has no effect here."""
        return self._periodic_compaction_time


_RocksdbCompactFilterCleanupStrategy: TypeAlias = RocksdbCompactFilterCleanupStrategy


_Configured: TypeAlias = Mapping[_Strategies, _CleanupStrategy]


@final
class CleanupStrategies:
    """The strategies that remove expired state. A read removes expired state with any strategy."""

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
        """Return whether a backend uses its default strategy if the program configures none for it."""
        return self._is_cleanup_in_background

    def in_full_snapshot(self) -> bool:
        """Return whether full snapshots leave out expired state. The backend keeps that state."""
        return _Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> _IncrementalCleanupStrategy | None:
        """Return the strategy of the hash map, by default 5 keys with each access; None if no strategy applies."""
        default = _IncrementalCleanupStrategy(5, False) if self._is_cleanup_in_background else None
        found = self._strategies.get(_Strategies.INCREMENTAL_CLEANUP, default)
        return found if isinstance(found, _IncrementalCleanupStrategy) else None

    def get_rocksdb_compact_filter_cleanup_strategy(self) -> _RocksdbCompactFilterCleanupStrategy | None:
        """Return the strategy of RocksDB, by default with 1000 entries between reads of the clock.

        None if no strategy applies.
        """
        default = _RocksdbCompactFilterCleanupStrategy(1000) if self._is_cleanup_in_background else None
        found = self._strategies.get(_Strategies.ROCKSDB_COMPACTION_FILTER, default)
        return found if isinstance(found, _RocksdbCompactFilterCleanupStrategy) else None


_CleanupStrategies: TypeAlias = CleanupStrategies


@final
class Builder:
    """Builds a `StateTtlConfig`. Every setter returns the builder."""

    def __init__(self, ttl: Time | Duration) -> None:
        self._ttl = ttl
        self._update_type = _UpdateType.OnCreateAndWrite
        self._state_visibility = _StateVisibility.NeverReturnExpired
        self._ttl_time_characteristic = _TtlTimeCharacteristic.ProcessingTime
        self._is_cleanup_in_background = True
        self._strategies: dict[_Strategies, _CleanupStrategy] = {}

    def set_update_type(self, update_type: _UpdateType) -> _Builder:
        """Set which accesses reset the time of the last access."""
        self._update_type = update_type
        return self

    def update_ttl_on_create_and_write(self) -> _Builder:
        """Measure the time to live from the last write. This is the default."""
        return self.set_update_type(_UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> _Builder:
        """Measure the time to live from the last read or write."""
        return self.set_update_type(_UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: _StateVisibility) -> _Builder:
        """Set whether a read may return an expired value."""
        self._state_visibility = state_visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> _Builder:
        """Let a read return an expired value that has not been removed yet. The read removes it."""
        return self.set_state_visibility(_StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> _Builder:
        """Never return an expired value. This is the default."""
        return self.set_state_visibility(_StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(self, ttl_time_characteristic: _TtlTimeCharacteristic) -> _Builder:
        """Set the clock that measures the time to live. Only the wall clock is supported."""
        self._ttl_time_characteristic = ttl_time_characteristic
        return self

    def use_processing_time(self) -> _Builder:
        """Measure the time to live by the wall clock. This is the default and the only choice."""
        return self.set_ttl_time_characteristic(_TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> _Builder:
        """Leave expired state out of full snapshots. Incremental snapshots may still contain it."""
        self._strategies[_Strategies.FULL_STATE_SCAN_SNAPSHOT] = _CleanupStrategies.EMPTY_STRATEGY
        return self

    def cleanup_incrementally(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> _Builder:
        """On the hash map, check `cleanup_size` keys with each access to the state, or also with each record.

        Raises `ProgramError` for a negative number.
        """
        strategy = _IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
        self._strategies[_Strategies.INCREMENTAL_CLEANUP] = strategy
        return self

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
    ) -> _Builder:
        """On RocksDB, clean up in the background, even after `disable_cleanup_in_background`."""
        strategy = _RocksdbCompactFilterCleanupStrategy(query_time_after_num_entries, periodic_compaction_time)
        self._strategies[_Strategies.ROCKSDB_COMPACTION_FILTER] = strategy
        return self

    def disable_cleanup_in_background(self) -> _Builder:
        """Use only the strategies that other methods configure. Reads still remove expired state."""
        self._is_cleanup_in_background = False
        return self

    def set_ttl(self, ttl: Time | Duration) -> _Builder:
        """Set the time to live."""
        self._ttl = ttl
        return self

    def build(self) -> StateTtlConfig:
        """Return the configuration. Raises `ProgramError` if the time to live is not positive."""
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
    """How long state lives after its last access, and what happens when it expires. `new_builder` starts one.

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
        """Return a builder. Its `build` raises `ProgramError` if the time to live is not positive."""
        return _Builder(ttl)

    def get_update_type(self) -> _UpdateType:
        """Return which accesses reset the time of the last access."""
        return self._update_type

    def get_state_visibility(self) -> _StateVisibility:
        """Return whether a read may return an expired value."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """Return the time to live."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> _TtlTimeCharacteristic:
        """Return the clock that measures the time to live."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Return whether the state has a time to live."""
        return self._update_type is not _UpdateType.Disabled

    def get_cleanup_strategies(self) -> _CleanupStrategies:
        """Return the strategies that remove expired state."""
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
