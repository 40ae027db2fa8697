"""Commands on running jobs: listed, stopped, cancelled, with savepoints; what is not there is an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY, DriverAddress, RunDirectory
from headgate.cli.exits import ExitCode
from headgate.ids import JobId
from tests.unit.cli.commands import headgate
from tests.unit.web.served import served

CHECKPOINTS = {"execution__checkpointing__interval": "20 ms"}


@pytest.fixture(autouse=True)
def _own_run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))
    monkeypatch.delenv("HEADGATE_STORAGE_DIR", raising=False)


def test_a_running_job_is_listed() -> None:
    with served() as job:
        table = headgate("list")
        assert table.code == 0
        assert all(word in table.out for word in (job.job.job_id, "word-count", "RUNNING", f"pid {os.getpid()}"))
        found = headgate("list", "-r", "--json").json()["jobs"]
        assert [(row["jid"], row["name"], row["state"]) for row in found] == [(job.job.job_id, "word-count", "RUNNING")]
        assert headgate("list", "-s", "--json").json() == {"jobs": []}


def test_no_jobs_is_no_failure() -> None:
    done = headgate("list")
    assert (done.code, done.out) == (0, "")
    assert "no such jobs" in done.err


@pytest.mark.slow
def test_a_job_is_found_by_its_storage_from_elsewhere_and_listed_after_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = str(tmp_path / "storage")
    with served(headgate__storage__dir=storage, **CHECKPOINTS) as job:
        headgate("savepoint", job.job.job_id, str(tmp_path / "savepoints"))  # from now on its address is in storage
        monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "elsewhere"))
        assert headgate("list", "--json").json() == {"jobs": []}
        for place in (["--storage", storage], ["-D", f"state.checkpoints.dir={storage}"]):
            assert headgate("list", *place, "--json").json()["jobs"][0]["state"] == "RUNNING"
        assert headgate("cancel", "--storage", storage, job.job.job_id[:6]).code == 0
    monkeypatch.setenv("HEADGATE_STORAGE_DIR", storage)
    assert headgate("list", "--json").json() == {"jobs": []}
    assert headgate("list", "--all", "--json").json()["jobs"][0]["state"] == "CANCELED"
    done = headgate("cancel", job.job.job_id)
    assert done.code == ExitCode.NO_SUCH_JOB
    assert "has ended CANCELED" in done.err


@pytest.mark.slow
def test_a_savepoint_is_taken_looked_into_and_disposed_of(tmp_path: Path) -> None:
    with served(**CHECKPOINTS) as job:
        found = headgate("savepoint", "-type", "native", "--json", "word-count", str(tmp_path / "here")).json()
        assert found["jid"] == job.job.job_id
        assert (Path(found["location"]) / "_metadata").exists()
        words = headgate("savepoint", "word-count", str(tmp_path / "here"))
        assert words.out.startswith(f"Savepoint completed. Path: {tmp_path / 'here'}")
    assert headgate("savepoint", "-d", found["location"]).code == 0
    assert not Path(found["location"]).exists()
    again = headgate("savepoint", "--dispose", found["location"])
    assert again.code == ExitCode.FAILED
    assert "no snapshot" in again.err


def test_a_relative_target_means_the_folder_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with served(**CHECKPOINTS):
        location = headgate("savepoint", "word-count", "here", "--json").json()["location"]
    assert Path(location).parent == tmp_path / "here"


def test_a_savepoint_without_a_place_to_go_says_what_to_set() -> None:
    with served(**CHECKPOINTS):
        done = headgate("savepoint", "word-count")
    assert done.code == ExitCode.FAILED
    assert "execution.checkpointing.savepoint-dir" in done.err


@pytest.mark.parametrize("drain", [(), ("--drain",)])
def test_a_job_is_stopped_with_a_savepoint(tmp_path: Path, drain: tuple[str, ...]) -> None:
    with served(**CHECKPOINTS) as job:
        done = headgate("stop", *drain, "--savepointPath", str(tmp_path / "here"), "--json", "word-count")
        assert Path(done.json()["location"]).parent == tmp_path / "here"
        outcome = job.job.wait(120)
        assert outcome is not None
        assert outcome.status.word == "finished"


@pytest.mark.slow
def test_a_job_is_cancelled_with_and_without_a_savepoint(tmp_path: Path) -> None:
    with served(**CHECKPOINTS) as job:
        assert headgate("cancel", "word-count").out == f"Cancelled job {job.job.job_id}.\n"
    with served(**CHECKPOINTS):
        done = headgate("cancel", "-s", str(tmp_path / "here"), "word-count", "--json").json()
    assert (done["state"], Path(done["location"]).parent) == ("CANCELED", tmp_path / "here")


def test_a_name_that_fits_two_jobs_is_refused_with_their_ids() -> None:
    with served() as one, served() as other:
        done = headgate("cancel", "word-count")
        assert done.code == ExitCode.NO_SUCH_JOB
        assert one.job.job_id in done.err
        assert other.job.job_id in done.err


@pytest.mark.parametrize("command", [["stop"], ["cancel"], ["savepoint"], ["checkpoints"], ["checkpoint"]])
def test_a_job_that_nobody_knows_is_an_exit_code_and_one_paragraph(command: list[str], tmp_path: Path) -> None:
    for place in ([], ["--storage", str(tmp_path)]):
        done = headgate(*command, "nobody", *place)
        assert done.code == ExitCode.NO_SUCH_JOB
        assert done.out == ""
        assert "there is no job 'nobody'" in done.err
        assert done.err.count("\n") == 1


def gone_driver() -> int:
    """The number of a process that was there."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def leave(address: DriverAddress) -> None:
    RunDirectory.of_user().write(address)


def test_a_driver_that_was_killed_is_lost_and_its_last_checkpoint_named(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    with served(
        headgate__storage__dir=str(storage),
        **CHECKPOINTS,
        **{"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"},
    ) as job:
        location = headgate("checkpoint", "word-count", "--json").json()["location"]
        address = job.address
    assert Path(location).parent == storage / job.job.job_id
    leave(replace(address, pid=gone_driver()))
    assert headgate("list", "--json").json()["jobs"][0]["state"] == "LOST"
    done = headgate("cancel", "word-count")
    assert done.code == ExitCode.UNREACHABLE
    assert f"headgate run -s {storage / job.job.job_id}/chk-" in done.err
    stored = headgate("checkpoints", "word-count", "--json").json()["history"]
    assert {each["status"] for each in stored} == {"COMPLETED"}


def test_a_driver_of_another_machine_on_loopback_says_where_it_can_be_reached() -> None:
    with served() as job:
        other = replace(job.address, host="elsewhere", url="http://127.0.0.1:1")
    leave(other)
    done = headgate("stop", "word-count")
    assert done.code == ExitCode.UNREACHABLE
    assert "on elsewhere can be reached from that machine only" in done.err
    assert "rest.address" in done.err


def test_a_driver_of_another_machine_that_does_not_answer_is_named_with_its_address() -> None:
    with served() as job:
        silent = replace(job.address, host="elsewhere", url="http://0.0.0.0:1")
    leave(silent)
    done = headgate("stop", "word-count")
    assert done.code == ExitCode.UNREACHABLE
    assert "does not answer at http://0.0.0.0:1" in done.err
    assert job.address.token not in done.err


def test_a_driver_whose_port_another_one_has_taken_over_is_gone() -> None:
    with served() as job:
        leave(replace(job.address, job_id=JobId("ab" * 16), job_name="other", token="stale"))
        done = headgate("stop", "other")
    assert done.code == ExitCode.UNREACHABLE
    assert "it ended without a result; no checkpoint of it is left" in done.err


def test_wrong_command_lines_are_told_apart_from_failures() -> None:
    assert headgate("savepoint").code == ExitCode.USAGE
    assert headgate("nothing").code == ExitCode.USAGE
    assert headgate("stop", "--type", "avro", "x").code == ExitCode.USAGE


@pytest.mark.parametrize(
    "command", ["run", "list", "savepoint", "stop", "cancel", "checkpoints", "checkpoint", "state"]
)
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = headgate(command, "--help")
    assert done.code == 0
    assert f"  headgate {command}" in done.out
