"""ExecutionConfig writes through to the Configuration."""

import pytest

from headgate.common.configuration import Configuration
from headgate.common.execution_config import ExecutionConfig
from headgate.errors import ConfigError, UnsupportedError


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


def test_what_is_missing_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="disable_object_reuse"):
        _ = ExecutionConfig().disable_object_reuse  # type: ignore[attr-defined]
    assert ExecutionConfig().enable_object_reuse().is_object_reuse_enabled()
