"""Settings: precedence, errors that name key, value and source, and what is done about unknown keys."""

import logging
import pickle

import pytest

from headgate.config import Option, Registry, Settings, SettingSource, from_command_line
from headgate.config_kinds import INTEGER, TEXT
from headgate.errors import ConfigError, IgnoredWarning, UnsupportedError
from headgate.options import (
    BATCH_RECORDS,
    CHECKPOINT_DIR,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_MODE,
    CHECKPOINTS_RETAINED,
    JOB_NAME,
    PARALLELISM,
    REGISTRY,
    RESTART_STRATEGY,
    STATE_BACKEND,
    UNALIGNED,
    resolve,
)


def test_code_is_stronger_than_command_line_than_spark_conf_than_default() -> None:
    key = "headgate.batch.records"
    layers = [{key: "1"}, [f"-D{key}=2"], {"spark.headgate.batch.records": "3"}]
    for given, value, source in [
        (resolve(layers[0], layers[1], layers[2]), 1, SettingSource.CODE),  # type: ignore[arg-type]
        (resolve(None, layers[1], layers[2]), 2, SettingSource.COMMAND_LINE),  # type: ignore[arg-type]
        (resolve(None, (), layers[2]), 3, SettingSource.SPARK_CONF),  # type: ignore[arg-type]
        (resolve(), 1024, SettingSource.DEFAULT),
    ]:
        assert given.get(BATCH_RECORDS) == value
        assert given.source_of(BATCH_RECORDS) is source
        assert given.is_given(BATCH_RECORDS) is (source is not SettingSource.DEFAULT)


def test_flinks_keys_are_read_from_the_spark_conf_and_other_spark_keys_are_left_alone() -> None:
    conf = {"spark.headgate.execution.checkpointing.interval": "1 s", "spark.app.name": "x", "spark.headgateX": "y"}
    settings = resolve(spark_conf=conf)
    assert settings.get(CHECKPOINT_INTERVAL) == 1000
    assert settings.others == {}


def test_an_older_name_of_a_key_works_and_the_new_name_wins_over_it() -> None:
    assert resolve({"state.checkpoints.dir": "file:///a"}).get(CHECKPOINT_DIR) == "file:///a"
    both = {"execution.checkpointing.num-retained": 3, "state.checkpoints.num-retained": 2}
    assert resolve(both).get(CHECKPOINTS_RETAINED) == 3
    assert resolve(dict(reversed(both.items()))).get(CHECKPOINTS_RETAINED) == 3


def test_a_value_of_the_wrong_form_names_key_value_form_and_source() -> None:
    with pytest.raises(
        ConfigError, match=r"parallelism.default is 'two' in the command line, but must be a whole number"
    ):
        resolve(arguments=["-Dparallelism.default=two"])
    with pytest.raises(ConfigError, match=r"interval is '5 ms' in the program.*, but must be at least 10 ms"):
        resolve({"execution.checkpointing.interval": "5 ms"})
    with pytest.raises(ConfigError, match=r"deploy.target is 'yarn' in the Spark conf, but must be one of auto, spark"):
        resolve(spark_conf={"spark.headgate.deploy.target": "yarn"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"code": {"headgate.batch.record": 1}}, "headgate.batch.record in .*did you mean headgate.batch.records"),
        ({"arguments": ["-Dheadgate.storage.dri=x"]}, "headgate.storage.dri in .*did you mean headgate.storage.dir"),
        (
            {"spark_conf": {"spark.headgate.slot.hartbeat.interval": "1s"}},
            "did you mean spark.headgate.slot.heartbeat.interval",
        ),
        ({"spark_conf": {"spark.headgate.paralelism.default": "1"}}, "did you mean spark.headgate.parallelism.default"),
        ({"code": {"headgate.zzz": 1}}, "unknown key headgate.zzz"),
    ],
)
def test_an_unknown_key_of_ours_is_an_error_with_the_nearest_name(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(**given)  # type: ignore[arg-type]


def test_a_slot_that_may_be_silent_for_no_longer_than_it_is_silent_anyway_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"headgate\.slot\.heartbeat\.timeout is 10000 ms, but must be above .*20000"):
        resolve({"headgate.slot.heartbeat.interval": "20 s"})


def test_another_unknown_key_is_kept_and_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        settings = [resolve({"taskmanager.unheard-of": "4"}) for _ in range(2)][-1]
    assert settings.others == {"taskmanager.unheard-of": "4"}
    assert [record.getMessage() for record in caplog.records] == [
        "taskmanager.unheard-of in the program's Configuration means nothing to headgate and is ignored"
    ]


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("execution.checkpointing.intervall", "execution.checkpointing.interval"),
        ("execution.checkpoint.interval", "execution.checkpointing.interval"),
        ("paralelism.default", "parallelism.default"),
        ("restart-strategy.fixed-delay.attempt", "restart-strategy.fixed-delay.attempts"),
    ],
)
def test_a_key_that_is_much_like_one_of_flinks_is_an_error_that_names_it(slip: str, meant: str) -> None:
    for given in ({"code": {slip: "1"}}, {"arguments": [f"-D{slip}=1"]}):
        with pytest.raises(ConfigError, match=f"unknown key {slip} in .*; did you mean {meant}[?]"):
            resolve(**given)


@pytest.mark.parametrize(
    "key",
    [
        "state.backend.rocksdb.block.cache-size",
        "state.backend.rocksdb.log.dir",
        "state.backend.rocksdb.writebuffer.count",
        "state.changelog.periodic-materialize.enabled",
        "execution.checkpointing.force-unaligned",
        "execution.checkpointing.local-backup.dirs",
        "execution.checkpointing.create-subdir",
        "python.operator-chaining.enabled",
        "state.backend.async",
        "state.backend.rocksdb.options-factory",
        "execution.checkpointing.interval-during-backlog",
    ],
)
def test_a_key_that_only_flink_has_is_warned_of(key: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        resolve({key: "1"})
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith(f"{key} in the program's Configuration means nothing to headgate")


@pytest.mark.parametrize(
    "given",
    [
        {"state.backend.type": "forst"},
        {"state.backend": "ForSt"},
        {"execution.checkpointing.storage": "custom"},
    ],
)
def test_keys_and_values_of_flink_that_are_missing_are_refused_by_name(given: dict[str, str]) -> None:
    with pytest.raises(UnsupportedError, match="not supported"):
        resolve(given)
    with pytest.raises(UnsupportedError, match="not supported"):
        resolve(spark_conf={f"spark.headgate.{key}": value for key, value in given.items()})


def test_switching_off_what_is_missing_is_no_error() -> None:
    settings = resolve({"execution.checkpointing.snapshot-compression": "False", "state.backend.incremental": "false"})
    assert settings.get(STATE_BACKEND) == "hashmap"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("initial-backoff", "2 min", "initial-backoff is 120000 ms, but must not be above .*max-backoff"),
        ("initial-backoff", "0 ms", "initial-backoff is '0 ms' .*at least 1 ms"),
        ("backoff-multiplier", "1", "backoff-multiplier is 1, .*above 1"),
        ("backoff-multiplier", "nan", "backoff-multiplier is nan, .*above 1"),
        ("jitter-factor", "1.5", "jitter-factor is 1.5, .*0 to 1"),
        ("jitter-factor", "much", "jitter-factor is 'much' .*must be a number"),
        ("attempts-before-reset-backoff", "0", "attempts-before-reset-backoff is '0' .*at least 1"),
    ],
)
def test_impossible_delays_before_restarts_are_refused_by_key_and_value(key: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve({f"restart-strategy.exponential-delay.{key}": value})


def test_words_are_read_in_any_case_and_by_their_synonyms() -> None:
    assert resolve({"restart-strategy": "Off"}).get(RESTART_STRATEGY) == "none"
    assert resolve({"execution.checkpointing.mode": "exactly_once"}).get(CHECKPOINT_MODE) == "EXACTLY_ONCE"


def test_settings_survive_pickling() -> None:
    settings = resolve({"parallelism.default": 3, "pipeline.name": "x"})
    copy: Settings = pickle.loads(pickle.dumps(settings))  # noqa: S301
    assert copy == settings
    assert (copy.get(PARALLELISM), copy.get(JOB_NAME)) == (3, "x")


def test_arguments_that_are_not_ours_are_left_to_the_program() -> None:
    assert from_command_line(["-D", "--input", "-Debug", "-Da=b=c", "-D", "d=1", "-D"]) == {"a": "b=c", "d": "1"}


def test_a_key_cannot_be_declared_twice() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        Registry([Option[int]("a", INTEGER, 1, ""), Option[str]("b", TEXT, "", "", ("a",))])


def test_every_default_is_a_value_that_could_be_given() -> None:
    for option in REGISTRY.options:
        assert option.doc.endswith(".")
        if option.default is not None and not isinstance(option.default, tuple):
            assert option.parse(option.default, option.key, SettingSource.DEFAULT) == option.default


def test_unaligned_checkpoints_are_one_at_a_time() -> None:
    assert resolve({"execution.checkpointing.unaligned": True}).get(UNALIGNED)
    with pytest.raises(ConfigError, match=r"unaligned\.enabled is true, but .* leave unaligned checkpoints off"):
        resolve(
            {
                "execution.checkpointing.unaligned.enabled": True,
                "execution.checkpointing.max-concurrent-checkpoints": 2,
            }
        )


def test_unaligned_checkpoints_mean_nothing_at_least_once() -> None:
    asked = {"execution.checkpointing.unaligned.enabled": True, "execution.checkpointing.mode": "AT_LEAST_ONCE"}
    with pytest.warns(IgnoredWarning, match=r"unaligned\.enabled: true changes nothing here: .* is AT_LEAST_ONCE"):
        assert not resolve(asked).get(UNALIGNED)
