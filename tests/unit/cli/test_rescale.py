"""The command that gives a running job another parallelism, and what it says when it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.cli.exits import ExitCode
from tests.unit.cli.commands import headgate
from tests.unit.web.served import Served, served


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))
    monkeypatch.delenv("HEADGATE_STORAGE_DIR", raising=False)
    with served(execution__checkpointing__interval="1 h") as found:
        yield found


def parallelism(job: Served) -> list[int]:
    return [vertex["parallelism"] for vertex in job.get("/jobs/JOB")["vertices"]]


def test_a_job_is_rescaled_as_a_whole_and_by_vertex(job: Served) -> None:
    id_ = job.job.job_id
    done = headgate("rescale", id_, "-p", "2")
    assert done.code == 0
    assert done.out.startswith(f"Job {id_} runs at this parallelism: ")
    assert parallelism(job) == [2, 2]
    told = headgate("rescale", "word-count", "--vertex", "counter=3", "--json").json()
    assert told["jid"] == id_
    assert list(told["parallelism"].values()) == [2, 3]
    assert headgate("rescale", id_, "-p", "1").code == 0
    assert parallelism(job) == [1, 1]


@pytest.mark.parametrize(
    ("given", "code", "text"),
    [
        ([], ExitCode.USAGE, "Missing option '-p' or '--vertex'"),
        (["-p", "0"], ExitCode.USAGE, "0 is not in the range"),
        (["--vertex", "counter"], ExitCode.USAGE, "'counter' is no UID=N, such as sink=2"),
        (["--vertex", "nothing=2"], ExitCode.USAGE, "has no vertex 'nothing'; there are: "),
        (["--vertex", "counter=4000"], ExitCode.FAILED, "is to have 4000 to 4000 subtasks, but can have 1 to 128"),
    ],
)
def test_what_cannot_be_is_said_and_the_job_runs_on(job: Served, given: list[str], code: ExitCode, text: str) -> None:
    done = headgate("rescale", job.job.job_id, *given)
    assert done.code == code
    assert text in done.err
    assert job.get("/jobs/JOB/status") == {"status": "RUNNING"}
    assert parallelism(job) == [1, 1]


def test_a_job_without_checkpoints_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))
    with served() as job:
        done = headgate("rescale", job.job.job_id, "-p", "2")
        assert done.code == ExitCode.FAILED
        assert "it makes no checkpoints, from which it could go on: set execution.checkpointing.interval" in done.err
        assert parallelism(job) == [1, 1]
