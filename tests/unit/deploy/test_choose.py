"""Where jobs run, and which of them are batch jobs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headgate.common import Duration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.deploy import choose
from headgate.deploy.local.mini_cluster import MiniCluster
from headgate.errors import ConfigError, EnvironmentFault, ProgramError
from headgate.options import resolve
from tests.unit.datastream.environments import environment

MINICLUSTER = resolve({"headgate.deploy.target": "minicluster"})


def test_the_key_chooses_this_process() -> None:
    assert isinstance(choose.deployment(MINICLUSTER, None), MiniCluster)
    assert choose.default_parallelism(MINICLUSTER, None) == 1


def test_without_pyspark_the_error_says_what_to_install_or_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(EnvironmentFault, match=r"headgate\[spark\].*headgate\.deploy\.target=minicluster"):
        choose.deployment(resolve(), None)


def test_without_rocksdb_a_job_that_needs_it_fails_before_it_is_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "headgate.state.rocksdb.database", raising=False)
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    settings = resolve({"headgate.deploy.target": "minicluster", "state.backend.type": "rocksdb"})
    with pytest.raises(EnvironmentFault, match=r"pip install 'headgate\[rocksdb\]'"):
        choose.deployment(settings, None)


def test_without_pyspark_there_is_no_conf_and_the_parallelism_is_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    assert choose.spark_conf(None) == {}
    assert choose.default_parallelism(resolve(), None) >= 1
    assert "pyspark" not in sys.modules


def decided(env: StreamExecutionEnvironment) -> bool:
    return choose.is_batch(env._program.graph(), env._settings())


def with_mode(mode: str, **settings: str) -> StreamExecutionEnvironment:
    return environment(**{"execution.runtime-mode": mode} | settings)


def endless(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).print()
    env.from_source(DataGeneratorSource(int), None, "clicks").print()


@pytest.mark.parametrize(("mode", "is_one"), [("STREAMING", False), ("BATCH", True), ("AUTOMATIC", True)])
def test_bounded_input_is_a_batch_job_if_one_is_asked_for(mode: str, is_one: bool) -> None:
    env = with_mode(mode)
    env.from_collection([1]).union(env.from_source(NumberSequenceSource(1, 2), None, "numbers")).print()
    assert decided(env) is is_one


def test_streaming_is_the_default_also_for_bounded_input() -> None:
    env = environment()
    env.from_collection([1]).print()
    assert not decided(env)


def test_the_mode_can_be_set_in_the_program() -> None:
    env = environment().set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    env.from_collection([1]).print()
    assert decided(env)


def test_a_rate_does_not_make_a_source_endless() -> None:
    env = with_mode("AUTOMATIC")
    env.from_source(RateLimitedSource(NumberSequenceSource(1, 2), 10.0), None, "numbers").print()
    assert decided(env)


def test_automatic_is_streaming_when_one_source_does_not_end() -> None:
    env = with_mode("AUTOMATIC")
    endless(env)
    assert not decided(env)


def test_automatic_is_streaming_for_a_job_that_starts_from_a_snapshot() -> None:
    env = with_mode("AUTOMATIC", **{"execution.state-recovery.path": "file:///snapshots/savepoint-1"})
    env.from_collection([1]).print()
    assert not decided(env)


def test_batch_with_a_source_that_does_not_end_names_the_source() -> None:
    env = with_mode("BATCH")
    endless(env)
    with pytest.raises(ProgramError, match=r"BATCH, but source 'clicks' .*set the runtime mode to STREAMING"):
        env.execute()


def test_batch_with_a_source_that_looks_for_files_names_it(tmp_path: Path) -> None:
    env = with_mode("BATCH")
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    env.from_source(builder.monitor_continuously(Duration.of_seconds(1)).build(), None, "folder").print()
    with pytest.raises(ProgramError, match="source 'folder' never ends, or looks for more to read"):
        env.execute()


def test_batch_from_a_snapshot_names_the_option() -> None:
    env = with_mode("BATCH", **{"execution.state-recovery.path": "file:///snapshots/savepoint-1"})
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match=r"BATCH, and execution\.state-recovery\.path names a snapshot"):
        decided(env)


def test_another_mode_is_refused_with_those_there_are() -> None:
    env = with_mode("MICRO")
    env.from_collection([1]).print()
    with pytest.raises(ConfigError, match=r"execution\.runtime-mode.*STREAMING.*BATCH.*AUTOMATIC"):
        env.execute()


def test_a_program_without_operators_is_refused_as_ever() -> None:
    with pytest.raises(ProgramError):
        with_mode("BATCH").execute()
