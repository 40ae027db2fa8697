"""CheckpointConfig: writes through to the Configuration, validates, and keeps the names of older releases."""

import pytest

from headgate.common.configuration import Configuration
from headgate.common.restart_strategy import RestartStrategies
from headgate.common.time import Duration
from headgate.datastream.checkpoint_config import (
    CheckpointConfig,
    ExternalizedCheckpointCleanup,
    ExternalizedCheckpointRetention,
)
from headgate.datastream.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from headgate.datastream.checkpointing_mode import CheckpointingMode
from headgate.datastream.legacy import FsStateBackend, MemoryStateBackend, OlderEnvironment, TimeCharacteristic
from headgate.datastream.state_backend import HashMapStateBackend
from headgate.errors import ConfigError, UnsupportedError
from headgate.options import UNALIGNED, resolve


@pytest.fixture
def configuration() -> Configuration:
    return Configuration()


@pytest.fixture
def config(configuration: Configuration) -> CheckpointConfig:
    return CheckpointConfig(configuration)


def test_defaults_are_those_of_flink(config: CheckpointConfig) -> None:
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert not config.is_externalized_checkpoints_enabled()
    assert not config.is_unaligned_checkpoints_enabled()


def test_settings_are_read_back_and_reach_the_configuration(
    config: CheckpointConfig, configuration: Configuration
) -> None:
    config.set_checkpoint_interval(1000).set_checkpoint_timeout(60_000).set_min_pause_between_checkpoints(500)
    config.set_max_concurrent_checkpoints(2).set_tolerable_checkpoint_failure_number(2)
    config.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE)
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    assert config.is_checkpointing_enabled()
    assert config.is_externalized_checkpoints_enabled()
    assert resolve(configuration.to_dict()).others == {}
    again = CheckpointConfig(Configuration.from_dict(configuration.to_dict()))
    assert again.get_checkpoint_interval() == 1000
    assert again.get_checkpoint_timeout() == 60_000
    assert again.get_min_pause_between_checkpoints() == 500
    assert again.get_max_concurrent_checkpoints() == 2
    assert again.get_tolerable_checkpoint_failure_number() == 2
    assert again.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION


def test_times_below_10_ms_and_other_impossible_values_are_refused(config: CheckpointConfig) -> None:
    with pytest.raises(ConfigError, match=r"interval is 9 .*at least 10 ms"):
        config.set_checkpoint_interval(9)
    with pytest.raises(ConfigError, match=r"timeout is 1 .*at least 10 ms"):
        config.set_checkpoint_timeout(1)
    with pytest.raises(ConfigError, match="at least 1"):
        config.set_max_concurrent_checkpoints(0)
    with pytest.raises(ConfigError, match="min-pause is -1"):
        config.set_min_pause_between_checkpoints(-1)


def test_tolerating_errors_has_an_older_boolean_that_gives_way_to_the_number(config: CheckpointConfig) -> None:
    assert not config.set_fail_on_checkpointing_errors(False).is_fail_on_checkpointing_errors()
    assert config.get_tolerable_checkpoint_failure_number() == 2**31 - 1
    assert config.set_fail_on_checkpointing_errors(True).get_tolerable_checkpoint_failure_number() == 0
    config.set_tolerable_checkpoint_failure_number(3).set_fail_on_checkpointing_errors(False)
    assert config.get_tolerable_checkpoint_failure_number() == 3
    assert not config.is_fail_on_checkpointing_errors()


def test_a_tolerable_number_of_minus_one_is_as_good_as_none(config: CheckpointConfig) -> None:
    config.set_tolerable_checkpoint_failure_number(-1)
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.set_fail_on_checkpointing_errors(False).get_tolerable_checkpoint_failure_number() == 2**31 - 1
    with pytest.raises(ConfigError, match="tolerable-failed-checkpoints is -2"):
        config.set_tolerable_checkpoint_failure_number(-2)


def test_unaligned_checkpoints_are_switched_with_their_timeout(
    config: CheckpointConfig, configuration: Configuration
) -> None:
    config.enable_unaligned_checkpoints().set_alignment_timeout(Duration.of_seconds(5))
    assert config.is_unaligned_checkpoints_enabled()
    assert config.get_aligned_checkpoint_timeout().to_millis() == 5000
    config.set_aligned_checkpoint_timeout(Duration.of_millis(7)).set_force_unaligned_checkpoints()
    assert config.get_alignment_timeout().to_millis() == 7
    assert config.is_force_unaligned_checkpoints()
    config.set_checkpoint_id_of_ignored_in_flight_data(12)
    assert config.get_checkpoint_id_of_ignored_in_flight_data() == 12
    assert resolve(configuration.to_dict()).get(UNALIGNED)
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()


def test_at_least_once_is_a_mode(config: CheckpointConfig) -> None:
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE


def test_older_settings_do_what_they_say_or_are_refused_by_name(config: CheckpointConfig) -> None:
    assert not config.is_force_checkpointing()
    assert config.set_force_checkpointing(True).is_force_checkpointing()
    assert config.is_prefer_checkpoint_for_recovery()
    assert not config.set_prefer_checkpoint_for_recovery(False).is_prefer_checkpoint_for_recovery()


def test_older_names_do_what_their_successors_do(config: CheckpointConfig, configuration: Configuration) -> None:
    config.enable_externalized_checkpoints(ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION)
    assert config.get_externalized_checkpoint_cleanup() is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    config.set_checkpoint_storage(FileSystemCheckpointStorage("hdfs://host:9000/chk", 1024))
    assert configuration.get_string("execution.checkpointing.dir", "") == "hdfs://host:9000/chk"
    assert configuration.get_integer("execution.checkpointing.data-inline-threshold", 0) == 1024
    config.set_checkpoint_storage(JobManagerCheckpointStorage(max_state_size=1024))
    assert not configuration.contains_key("execution.checkpointing.dir")
    assert configuration.get_string("execution.checkpointing.storage", "") == "jobmanager"
    assert configuration.get_integer("headgate.checkpoint.max-state-size", 0) == 1024
    config.set_checkpoint_storage_dir("file:///x")
    assert configuration.get_string("execution.checkpointing.storage", "") == "filesystem"
    assert configuration.get_string("execution.checkpointing.dir", "") == "file:///x"


class _Environment(OlderEnvironment):
    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration


def test_older_methods_of_the_environment_set_options(configuration: Configuration) -> None:
    environment = _Environment(configuration)
    environment.set_state_backend(HashMapStateBackend()).set_restart_strategy(RestartStrategies.no_restart())
    assert configuration.to_dict() == {"state.backend.type": "hashmap", "restart-strategy.type": "none"}
    environment.set_state_backend(FsStateBackend("file:///x"))
    assert configuration.get_string("execution.checkpointing.dir", "") == "file:///x"
    environment.set_state_backend(MemoryStateBackend(savepoint_path="file:///y", max_state_size=1024))
    assert configuration.get_string("execution.checkpointing.savepoint-dir", "") == "file:///y"
    assert not configuration.contains_key("execution.checkpointing.dir")
    assert configuration.get_string("execution.checkpointing.storage", "") == "jobmanager"
    assert configuration.get_integer("headgate.checkpoint.max-state-size", 0) == 1024
    assert environment.get_stream_time_characteristic() is TimeCharacteristic.ProcessingTime
    environment.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    assert environment.get_stream_time_characteristic() is TimeCharacteristic.EventTime
    with pytest.raises(UnsupportedError, match="IngestionTime is not supported yet"):
        environment.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)


def test_file_storage_needs_a_path_and_a_threshold_of_at_most_a_megabyte() -> None:
    assert FileSystemCheckpointStorage("file:///x").get_min_file_size_threshold() == 20 * 1024
    with pytest.raises(ValueError, match="needs a folder or URI"):
        FileSystemCheckpointStorage("")
    with pytest.raises(ValueError, match="at most 1048576"):
        FileSystemCheckpointStorage("file:///x", 2**20 + 1)
