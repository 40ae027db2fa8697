"""ExecutionConfig writes through to the Configuration."""

import pytest

from headgate.common.configuration import Configuration
from headgate.common.execution_config import ExecutionConfig
from headgate.errors import ConfigError, IgnoredWarning


def test_settings_reach_the_configuration() -> None:
    configuration = Configuration()
    config = ExecutionConfig(configuration).set_parallelism(2).set_max_parallelism(64).set_auto_watermark_interval(50)
    config.set_global_job_parameters({"a": 1})
    assert (config.get_parallelism(), config.get_max_parallelism()) == (2, 64)
    assert config.get_auto_watermark_interval() == 50
    assert config.get_global_job_parameters() == {"a": "1"}
    assert configuration.get_integer("parallelism.default", 0) == 2


def test_parallelism_default_stands_for_not_set() -> None:
    config = ExecutionConfig()
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT
    assert config.set_parallelism(3).set_parallelism(-1).get_parallelism() == -1
    with pytest.raises(ConfigError, match=r"parallelism.default is 0 .*at least 1"):
        config.set_parallelism(0)


def test_object_reuse_is_off_until_it_is_enabled() -> None:
    config = ExecutionConfig()
    assert not config.is_object_reuse_enabled()
    assert config.enable_object_reuse().is_object_reuse_enabled()
    assert not config.disable_object_reuse().is_object_reuse_enabled()


SWITCHES = [
    ("closure_cleaner", "is_closure_cleaner_enabled", True),
    ("force_kryo", "is_force_kryo_enabled", False),
    ("force_avro", "is_force_avro_enabled", False),
    ("auto_generated_uids", "has_auto_generated_uids_enabled", True),
]


@pytest.mark.parametrize(("name", "ask", "default"), SWITCHES)
def test_a_switch_of_the_java_runtime_is_noted_with_a_warning(name: str, ask: str, default: bool) -> None:
    config = ExecutionConfig()
    assert getattr(config, ask)() is default
    for word, value in (("enable", True), ("disable", False)):
        with pytest.warns(IgnoredWarning, match="changes nothing here"):
            assert getattr(config, f"{word}_{name}")() is config
        assert getattr(config, ask)() is value


@pytest.mark.parametrize(
    ("name", "default"),
    [("latency_tracking_interval", 0), ("task_cancellation_interval", 30_000), ("task_cancellation_timeout", 180_000)],
)
def test_a_time_of_the_java_runtime_is_noted_with_a_warning(name: str, default: int) -> None:
    config = ExecutionConfig()
    assert getattr(config, f"get_{name}")() == default
    with pytest.warns(IgnoredWarning, match="changes nothing here"):
        getattr(config, f"set_{name}")(7)
    assert getattr(config, f"get_{name}")() == 7


def test_configs_with_the_same_settings_are_equal() -> None:
    one, other = ExecutionConfig().set_parallelism(2), ExecutionConfig().set_parallelism(2)
    assert one == other
    assert hash(one) == hash(other)
    assert one != ExecutionConfig()
