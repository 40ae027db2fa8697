"""A job on the terminal: a frame of any width, and a real terminal that q ends."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import time

import pytest
from rich.console import Console

from headgate.cli.frame import drawn
from headgate.web.page.overview_json import overview
from tests.unit.cli.commands import headgate
from tests.unit.web.page_jobs import PageJob, own
from tests.unit.web.served import served


def frame(width: int) -> str:
    job = PageJob()
    job.reports(own(busy=0.25, records=1234), own(busy=0.95, held=0.02, records=617), own(busy=0.1, records=617))
    job.checkpoint(3, async_ms=40.0)
    job.now_ms += 2000
    finding = {"kind": "slow", "severity": "bad", "text": "[red]it is too slow", "page": ""}
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(drawn(overview(job.job, job.now_ms) | {"findings": [finding]}))
    return console.export_text()


@pytest.mark.parametrize("width", [80, 200])
def test_a_frame_has_operators_findings_and_checkpoints(width: int) -> None:
    lines = frame(width).splitlines()
    assert "RUNNING | for 2.0 s | attempt 1" in lines[0]
    assert "1 checkpoints, 0 failed | newest 3: 2.0 s ago, took 40 ms" in lines[1]
    assert lines[2].strip() == "x [red]it is too slow"
    assert lines[3].split()[:3] == ["OPERATORS", "N", "BUSY"]
    assert "95%" in lines[5]
    assert "1,234" in lines[5]
    assert max(map(len, lines)) <= width


def test_in_a_pipe_one_frame_is_drawn() -> None:
    with served() as job:
        told = headgate("top", job.job.job_id)
    assert told.code == 0
    assert "word-count RUNNING" in told.out


@pytest.mark.slow
def test_on_a_terminal_q_ends_it() -> None:
    with served() as job:
        ours, its = pty.openpty()
        command = [sys.executable, "-m", "headgate", "top", job.job.job_id]
        process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its)
        os.close(its)
        shown, deadline_s = b"", time.monotonic() + 60
        while b"word-count RUNNING" not in shown:
            assert time.monotonic() < deadline_s, shown
            if select.select([ours], [], [], 1.0)[0]:
                shown += os.read(ours, 65_536)
        os.write(ours, b"q")
        try:
            assert process.wait(30) == 0
        finally:
            process.kill()
            os.close(ours)
