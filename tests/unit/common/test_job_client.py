"""The client of a job: savepoints while it runs, and three ways to end it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headgate.common import Configuration
from headgate.common.job_client import JobClient
from headgate.common.job_status import JobStatus
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from headgate.errors import CheckpointError, ConfigError


def start(folder: Path, **settings: str) -> JobClient:
    """A job that goes on for ever; it runs when this returns."""
    values = {
        "headgate.deploy.target": "minicluster",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "execution.checkpointing.interval": "10 ms",
        **settings,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))
    source = DataGeneratorSource(lambda index: index, None, 1000.0)
    env.from_source(source, None, "numbers").filter(lambda value: False).print()
    client = env.execute_async()
    while client.get_job_status().result() is not JobStatus.RUNNING:
        time.sleep(0)
    return client


def test_a_savepoint_leaves_the_job_running(tmp_path: Path) -> None:
    client = start(tmp_path)
    location = client.trigger_savepoint(str(tmp_path / "mine"), SavepointFormat.NATIVE).result(120.0)
    assert Path(location).parent == tmp_path / "mine"
    assert (Path(location) / "_metadata").exists()
    assert client.get_job_status().result() is JobStatus.RUNNING
    client.cancel().result(120.0)


@pytest.mark.parametrize("drain", [False, True])
def test_a_stopped_job_has_ended_when_the_location_is_known(drain: bool, tmp_path: Path) -> None:
    client = start(tmp_path, **{"execution.checkpointing.savepoint-dir": str(tmp_path / "default")})
    location = client.stop_with_savepoint(drain, str(tmp_path / "mine")).result(120.0)
    assert (Path(location) / "_metadata").exists()
    assert client.get_job_status().result() is JobStatus.FINISHED
    client.get_job_execution_result().result(120.0)


def test_a_job_is_cancelled_once_its_savepoint_is_complete(tmp_path: Path) -> None:
    client = start(tmp_path)
    location = client.cancel_with_savepoint(str(tmp_path / "mine")).result(120.0)
    assert (Path(location) / "_metadata").exists()
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_a_job_whose_savepoint_fails_is_not_cancelled(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("in the way")
    client = start(tmp_path)
    with pytest.raises(CheckpointError, match="nothing can be written to"):
        client.cancel_with_savepoint(str(tmp_path / "mine")).result(120.0)
    assert client.get_job_status().result() is JobStatus.RUNNING
    client.cancel().result(120.0)


def test_where_savepoints_go_must_be_said_somewhere(tmp_path: Path) -> None:
    client = start(tmp_path)
    with pytest.raises(ConfigError, match=r"execution\.checkpointing\.savepoint-dir"):
        client.trigger_savepoint().result(120.0)
    client.cancel().result(120.0)


def test_a_job_that_has_ended_takes_no_savepoint(tmp_path: Path) -> None:
    client = start(tmp_path)
    client.cancel().result(120.0)
    with pytest.raises(CheckpointError, match=r"no savepoint for job .*: it was cancelled"):
        client.trigger_savepoint(str(tmp_path)).result(120.0)
    with pytest.raises(CheckpointError, match="was not stopped with a savepoint: it was cancelled"):
        client.stop_with_savepoint(False, str(tmp_path)).result(120.0)
