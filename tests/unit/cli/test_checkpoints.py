"""Commands on checkpoints: what they show of a job, as tables and as Flink's JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.cli.exits import ExitCode
from tests.unit.cli.commands import headgate
from tests.unit.web.served import Served, served, until


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUN_DIRECTORY, str(tmp_path_factory.mktemp("run") / "here"))
        with served(execution__checkpointing__interval="1 h") as found:
            until(lambda: headgate("checkpoint", "word-count").code == 0)
            yield found


def test_the_history_is_shown(job: Served) -> None:
    done = headgate("checkpoints", "word-count")
    assert done.code == 0
    assert "completed 1, in progress 0, failed 0, restored 0" in done.out
    assert all(word in done.out for word in ("latest completed: 1 at", "COMPLETED", "2/2"))


def test_one_checkpoint_is_shown_operator_by_operator(job: Served) -> None:
    done = headgate("checkpoints", "word-count", "--details", "1")
    assert done.code == 0
    assert all(word in done.out for word in ("Source: numbers", "counter -> ", "1/1", "path: "))


def test_as_json_it_is_what_the_rest_interface_says(job: Served) -> None:
    assert headgate("checkpoints", "word-count", "--json").json() == job.get("/jobs/JOB/checkpoints")
    details = headgate("checkpoints", "word-count", "--details", "1", "--json").json()
    assert details == job.get("/jobs/JOB/checkpoints/details/1")


def test_a_checkpoint_that_is_not_there_is_named(job: Served) -> None:
    done = headgate("checkpoints", "word-count", "--details", "77")
    assert done.code == ExitCode.NO_SUCH_JOB
    assert "checkpoint 77" in done.err


def test_a_checkpoint_is_made_when_asked_for(job: Served) -> None:
    assert Path(headgate("checkpoint", job.job.job_id, "--json").json()["location"]).name.startswith("chk-")
