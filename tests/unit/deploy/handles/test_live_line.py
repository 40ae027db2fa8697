"""The live line on a terminal: kept up to date, cut to the width, and erased in the end."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.deploy.handles.live_line import wait_with_line
from headgate.ids import JobId
from headgate.job_status import JobStatus
from headgate.runtime.monitoring.outcome import JobOutcome

ERASE = "\r\x1b[2K"
ENDED = JobOutcome(job_id=JobId("ab"), status=JobStatus.FINISHED, cause=None, runtime_ms=1.0)


class Scripted:
    """A job that ends when its lines are over."""

    def __init__(self, *lines: str | None, raises: BaseException | None = None) -> None:
        self._lines = iter(lines)
        self._next: str | None = None
        self._raises = raises

    def wait(self, timeout_s: float | None = None) -> JobOutcome | None:
        try:
            self._next = next(self._lines)
        except StopIteration:
            if self._raises is not None:
                raise self._raises from None
            return ENDED
        return None

    def line(self) -> str | None:
        return self._next


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")


def test_each_line_takes_the_place_of_the_one_before_and_nothing_stays() -> None:
    terminal = io.StringIO()
    assert wait_with_line(Scripted("one", None, "a line that is too long"), terminal) is ENDED
    assert terminal.getvalue() == f"{ERASE}one{ERASE}a line that{ERASE}"


def test_the_line_is_erased_when_the_wait_is_interrupted() -> None:
    terminal = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        wait_with_line(Scripted("one", raises=KeyboardInterrupt()), terminal)
    assert terminal.getvalue().endswith(ERASE)


PROGRAM = """
from headgate.common import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.operators.collect import CollectFactory

conf = Configuration().set_string("headgate.deploy.target", "minicluster")
env = StreamExecutionEnvironment.get_execution_environment(conf)
env.from_source(DataGeneratorSource(int, 1_500, 1_000), None, "numbers")._end("sink", CollectFactory())
env.execute("on a terminal")
"""


def run(folder: Path, *, on_a_terminal: bool) -> str:
    """Run the program; return what comes on its standard error."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    reading, writing = pty.openpty() if on_a_terminal else os.pipe()
    process = subprocess.Popen([sys.executable, str(program)], stderr=writing, stdout=subprocess.DEVNULL)
    os.close(writing)
    seen = b""
    while True:
        try:
            part = os.read(reading, 4096)
        except OSError:  # the other end of a terminal is closed
            break
        if not part:
            break
        seen += part
    os.close(reading)
    assert process.wait(60.0) == 0
    return seen.decode()


@pytest.mark.slow
def test_a_program_shows_the_line_on_a_terminal_only(tmp_path: Path) -> None:
    seen = run(tmp_path, on_a_terminal=True)
    assert "on a termin" in seen
    assert seen.endswith(ERASE)
    assert ERASE not in run(tmp_path, on_a_terminal=False)
