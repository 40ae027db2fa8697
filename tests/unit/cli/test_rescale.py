"""The command that gives a running job another parallelism, and what it says when it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.cli.exits import ExitCode
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.functions.api import MapFunction
from headgate.functions.context import RuntimeContext
from headgate.job_status import JobStatus
from tests.unit.cli.commands import headgate
from tests.unit.datastream.environments import environment
from tests.unit.web.served import Served, served, until


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


def test_a_job_that_has_the_parallelism_already_is_not_stopped(job: Served) -> None:
    done = headgate("rescale", job.job.job_id, "-p", "1")
    assert done.out.startswith(f"Job {job.job.job_id} runs at this parallelism already: ")
    assert job.get("/jobs/JOB/exceptions")["exceptionHistory"]["entries"] == []
    assert job.get("/jobs/JOB/checkpoints")["counts"]["total"] == 0


def test_a_job_that_nobody_knows_says_where_it_was_looked_for() -> None:
    done = headgate("rescale", "nobody", "-p", "2")
    assert done.code == ExitCode.NO_SUCH_JOB
    assert "there is no job 'nobody' on this machine" in done.err
    assert "jobs in batch mode cannot be found" in done.err


@pytest.mark.parametrize(
    ("given", "code", "text"),
    [
        ([], ExitCode.USAGE, "Missing option '-p' or '--vertex'"),
        (["-p", "0"], ExitCode.USAGE, "0 is not in the range"),
        (["--vertex", "counter"], ExitCode.USAGE, "'counter' is not of the form UID=N, such as sink=2"),
        (["--vertex", "nothing=2"], ExitCode.USAGE, "has no vertex 'nothing'; there are: "),
        (["--vertex", "counter=4000"], ExitCode.FAILED, "is to have 4000 subtasks, but can have 1 to 128"),
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
        assert "it makes no checkpoints to go on from: set execution.checkpointing.interval" in done.err
        assert parallelism(job) == [1, 1]


class FailsOnce(MapFunction):
    """Fails in the first attempt."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.fails = runtime_context.get_attempt_number() == 0

    def map(self, value: int) -> int:
        if self.fails:
            raise ValueError("once")
        return value


@pytest.mark.slow
def test_a_job_that_waits_for_its_restart_starts_at_the_parallelism_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))
    settings = {
        "headgate__rest__enabled": "true",
        "execution__checkpointing__interval": "1 h",
        "restart-strategy__type": "fixed-delay",
        "restart-strategy__fixed-delay__delay": "2 s",
    }
    env = environment(**settings)
    numbers = env.from_source(RateLimitedSource(NumberSequenceSource(0, 10**9), 1000), None, "numbers")
    numbers.key_by(lambda number: number).map(FailsOnce()).uid("fails").filter(lambda number: False).print()
    job = env.submit("restarted")
    try:
        until(lambda: job.status() is JobStatus.RESTARTING)
        done = headgate("rescale", job.job_id, "-p", "2")
        assert (done.code, done.err) == (0, "")
        assert "runs at this parallelism: " in done.out
        assert job.status() is JobStatus.RUNNING
    finally:
        job.cancel()
        job.wait(120)
    ended = headgate("rescale", job.job_id, "-p", "1")
    assert ended.code == ExitCode.NO_SUCH_JOB
