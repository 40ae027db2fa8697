"""The command that tells how a job is configured, and in which processes it runs."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate import native
from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.cli.exits import ExitCode
from tests.unit.cli.commands import headgate
from tests.unit.web.served import Served, served

INTERVAL = ["execution.checkpointing.interval", "20 ms", "the program's Configuration"]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))
    monkeypatch.delenv("HEADGATE_STORAGE_DIR", raising=False)
    with served(execution__checkpointing__interval="20 ms", my__own__key="7", my__own__password="hush") as found:
        yield found


def cells(out: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in out.splitlines()]


def test_the_settings_that_are_set_and_the_processes_are_shown(job: Served) -> None:
    settings, vertices, processes = headgate("describe", "word-count").out.split("\n\n")
    assert INTERVAL in cells(settings)
    assert ["my.own.key", "7", "not a setting of headgate"] in cells(settings)
    assert "the default" not in settings
    assert "hush" not in settings
    assert [row[1:] for row in cells(vertices)] == [["PARALLELISM"], ["1"], ["1"]]
    assert [row[:3] for row in cells(processes)[1:]] == [
        [name, socket.gethostname(), str(os.getpid())] for name in ("driver", "slot 0")
    ]
    hot_path = native.describe().split(" ")[0]
    assert [row[-1] for row in cells(processes)] == ["NATIVE", hot_path, hot_path]


def test_all_settings_are_shown_when_asked_for(job: Served) -> None:
    out = headgate("describe", "--all", job.job.job_id).out
    assert INTERVAL in cells(out)
    assert ["execution.runtime-mode", "STREAMING", "the default"] in cells(out)


def test_programs_get_the_same_as_json(job: Served) -> None:
    told = headgate("describe", "word-count", "--json").json()
    assert told["jid"] == job.job.job_id
    assert list(told["parallelism"].values()) == [1, 1]
    assert all(row["set"] for row in told["configuration"]["options"])
    assert [slot["pid"] for slot in told["environment"]["slots"]] == [str(os.getpid())]
    every = headgate("describe", "word-count", "--json", "--all").json()
    assert len(every["configuration"]["options"]) > len(told["configuration"]["options"])


def test_a_job_that_is_not_there_is_an_exit_code(job: Served) -> None:
    done = headgate("describe", "nobody")
    assert done.code == ExitCode.NO_SUCH_JOB
    assert "there is no job 'nobody'" in done.err
