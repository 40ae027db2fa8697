"""How a time to live is configured."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import ProgramError
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.ttl import StateTtlConfig
from headgate.types.instant import Duration, Time
from headgate.types.typeinfo import Types

Strategies = StateTtlConfig.CleanupStrategies


def builder() -> StateTtlConfig.Builder:
    return StateTtlConfig.new_builder(Time.seconds(10))


def test_the_defaults_are_those_of_flink() -> None:
    config = builder().build()
    assert config.get_ttl() == Time.seconds(10)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert config.is_enabled()
    cleanup = config.get_cleanup_strategies()
    assert (cleanup.is_cleanup_in_background(), cleanup.in_full_snapshot()) == (True, False)
    incremental, filtered = (
        cleanup.get_incremental_cleanup_strategy(),
        cleanup.get_rocksdb_compact_filter_cleanup_strategy(),
    )
    assert incremental is not None
    assert filtered is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (5, False)
    assert filtered.get_query_time_after_num_entries() == 1000
    assert filtered.get_periodic_compaction_time() == Duration.of_days(30)


def test_every_setting_can_be_set() -> None:
    config = (
        builder()
        .set_ttl(Duration.of_minutes(1))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(7, True)
        .cleanup_in_rocksdb_compact_filter(9, Duration.of_hours(1))
        .build()
    )
    cleanup = config.get_cleanup_strategies()
    incremental, filtered = (
        cleanup.get_incremental_cleanup_strategy(),
        cleanup.get_rocksdb_compact_filter_cleanup_strategy(),
    )
    assert incremental is not None
    assert filtered is not None
    assert config.get_ttl() == Time.minutes(1)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    assert cleanup.in_full_snapshot()
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (7, True)
    assert filtered.get_query_time_after_num_entries() == 9
    assert filtered.get_periodic_compaction_time() == Duration.of_hours(1)


def test_without_background_there_is_only_what_is_asked_for() -> None:
    none = builder().disable_cleanup_in_background().build().get_cleanup_strategies()
    assert none.get_incremental_cleanup_strategy() is None
    assert none.get_rocksdb_compact_filter_cleanup_strategy() is None
    one = builder().disable_cleanup_in_background().cleanup_incrementally(3, False).build().get_cleanup_strategies()
    assert one.get_incremental_cleanup_strategy() is not None
    assert one.get_rocksdb_compact_filter_cleanup_strategy() is None


@pytest.mark.parametrize("ttl", [Time.seconds(0), Time.milliseconds(-5), Duration.of_nanos(10), 5, None])
def test_a_time_to_live_that_is_not_positive_is_refused(ttl: Any) -> None:
    with pytest.raises(ProgramError, match=r"more than 0 ms, for instance Time.hours\(1\)"):
        StateTtlConfig.new_builder(ttl).build()


@pytest.mark.parametrize("ttl", [Time.milliseconds(1), Duration.of_millis(1)])
def test_the_shortest_time_to_live_is_a_millisecond(ttl: Any) -> None:
    assert StateTtlConfig.new_builder(ttl).build().get_ttl() == Time.milliseconds(1)


def test_a_setting_of_another_kind_is_refused_with_the_choices() -> None:
    with pytest.raises(ProgramError, match=r"UpdateType must be one of Disabled, OnCreateAndWrite, .*, not 1"):
        builder().set_update_type(1).build()  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="0 or more, not -1"):
        builder().cleanup_incrementally(-1, False)


def test_a_descriptor_takes_a_configuration_and_nothing_else() -> None:
    descriptor = ValueStateDescriptor("v", Types.LONG())
    with pytest.raises(ProgramError, match="enable_time_to_live of state 'v' takes a StateTtlConfig"):
        descriptor.enable_time_to_live(Time.seconds(1))  # type: ignore[arg-type]
    descriptor.enable_time_to_live(builder().build())
    assert descriptor.ttl is not None
    descriptor.enable_time_to_live(builder().set_update_type(StateTtlConfig.UpdateType.Disabled).build())
    assert descriptor.ttl is None


def test_strategies_may_be_made_as_in_pyflink() -> None:
    strategies = Strategies({Strategies.Strategies.FULL_STATE_SCAN_SNAPSHOT: Strategies.EMPTY_STRATEGY}, False)
    assert strategies.in_full_snapshot()
    assert strategies.get_incremental_cleanup_strategy() is None
