"""A job on the terminal: frames of any size, and a real terminal, where keys change the order and q ends it."""

from __future__ import annotations

import io
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.cli.exits import ExitCode
from headgate.cli.frame import ORDERS, Shape, drawn
from headgate.ids import Attempt
from headgate.runtime.monitoring.outcome import Failure, FailureOrigin
from headgate.web.page.overview_json import overview
from tests.unit.cli.commands import headgate
from tests.unit.web.page_jobs import PageJob, own
from tests.unit.web.served import served


@pytest.fixture(autouse=True)
def _own_run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))
    monkeypatch.delenv("HEADGATE_STORAGE_DIR", raising=False)


def seen() -> Any:
    """The overview of a job with all that a frame may have."""
    job = PageJob()
    job.reports(own(busy=0.25, records=1234), own(busy=0.95, held=0.02, records=617), own(busy=0.1, records=617))
    job.checkpoint(3, async_ms=40.0)
    job.now_ms += 2000
    cause = "ValueError: [bold]too bad\nTraceback"
    failure = Failure(wall_ms=500, attempt=Attempt(1), cause=cause, origin=FailureOrigin(), restart_delay_ms=0.0)
    job.progress.failures.append(failure)
    finding = {"kind": "slow", "severity": "bad", "text": "[red]it is too slow", "page": ""}
    return overview(job.job, job.now_ms) | {"findings": [finding]}


def frame(found: Any, **shape: Any) -> list[str]:
    """The lines of a frame."""
    room = Shape(**shape)
    console = Console(width=room.width, file=io.StringIO(), record=True)
    console.print(drawn(found, room))
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [80, 200])
def test_a_frame_has_operators_findings_checkpoints_and_the_newest_failure(width: int) -> None:
    lines = frame(seen(), width=width)
    assert "RUNNING | for 2.0 s | attempt 1" in lines[0]
    assert "1 checkpoints, 0 failed | newest 3: 2.0 s ago, took 40 ms" in lines[1]
    assert lines[2].strip() == "failed 1.5 s ago: ValueError: [bold]too bad"
    assert lines[3].strip() == "x [red]it is too slow"
    assert lines[4].split()[:3] == ["OPERATORS", "N", "BUSY"]
    assert ("BYTES IN/S" in lines[4]) is (width == 200)
    assert all(part in lines[6] for part in ("95%", "#####.....", "2%", "1,234"))
    assert len(lines) == 7
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("height", [6, 8, 12, 24, 60])
def test_a_frame_of_many_operators_fits_the_terminal_and_says_how_many_it_leaves_out(height: int) -> None:
    found = seen()
    vertex = found["vertices"][0]
    found["vertices"] = [vertex | {"name": f"operator {number}", "in": float(number)} for number in range(40)]
    found["findings"] *= 2
    lines = frame(found, width=80, height=height, order="i")
    assert len(lines) <= height
    shown = [line.split()[1] for line in lines if line.startswith("operator ")]
    assert shown == [str(number) for number in reversed(range(40 - len(shown), 40))]
    assert shown
    assert (f"... and {40 - len(shown)} more" in lines[-2]) is (len(shown) < 40)
    assert lines[-1].startswith("q quit | by p plan b busy")


@pytest.mark.parametrize("order", ORDERS)
def test_operators_are_put_into_each_order_also_where_nothing_is_known(order: str) -> None:
    found = seen()
    unknown = {"busy": {"avg": None, "max": None}, "backPressured": {"avg": None, "max": None}}
    found["vertices"].append(found["vertices"][0] | unknown | {"watermarkLag": None, "stateBytes": None})
    assert len(frame(found, height=24, order=order)) == 9


def test_in_a_pipe_one_frame_is_drawn() -> None:
    with served() as job:
        for told in (headgate("top", job.job.job_id), headgate("top", "--once")):
            assert told.code == 0
            assert "word-count RUNNING" in told.out


def test_of_several_jobs_one_has_to_be_named_where_nobody_can_choose() -> None:
    with served(), served():
        told = headgate("top")
    assert told.code == ExitCode.NO_SUCH_JOB
    assert "2 jobs run here: name one" in told.err


def test_a_driver_without_the_page_says_which_setting_it_is() -> None:
    with served(headgate__web__enabled="false") as job:
        told = headgate("top", job.job.job_id)
    assert told.code == ExitCode.FAILED
    assert "has no overview to show: it runs with headgate.web.enabled=false" in told.err


class Terminal:
    """A command on a terminal of 24 lines."""

    def __init__(self, *words: str) -> None:
        self.ours, its = pty.openpty()
        ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = [sys.executable, "-m", "headgate", *words]
        self.process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its)
        os.close(its)
        self.shown = b""

    def await_text(self, text: bytes) -> None:
        """Wait until the terminal has shown a text, after those that were awaited before."""
        deadline_s = time.monotonic() + 60
        while text not in self.shown:
            assert time.monotonic() < deadline_s, self.shown
            if select.select([self.ours], [], [], 1.0)[0]:
                self.shown += os.read(self.ours, 65_536)
        self.shown = self.shown.partition(text)[2]

    def press(self, keys: bytes) -> None:
        os.write(self.ours, keys)


@contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    found = Terminal(*words)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait()
        os.close(found.ours)


@pytest.mark.slow
def test_on_a_terminal_a_job_is_chosen_and_keys_change_the_order_until_q_ends_it() -> None:
    with served(), served(), terminal("top") as shown:
        shown.await_text(b"Which one? [1]:")
        shown.press(b"2\n")
        shown.await_text(b"word-count RUNNING")
        shown.await_text(b"q quit | by ")
        shown.press(b"xib")
        shown.await_text(b"1;2mb busy")
        shown.press(b"q")
        assert shown.process.wait(30) == 0


@pytest.mark.slow
def test_the_end_of_the_job_ends_it_and_is_told() -> None:
    with served() as job, terminal("top", job.job.job_id) as shown:
        shown.await_text(b"q quit | by ")
        job.job.cancel()
        shown.await_text(f"Job {job.job.job_id} has ended CANCELED".encode())
        assert shown.process.wait(30) == 0
