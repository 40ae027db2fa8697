"""The status line: what it shows of a job, and how a terminal keeps it up to date and erases it in the end."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import SubtaskAcked
from headgate.connectors.collection import CollectionSource
from headgate.connectors.datagen import DataGeneratorSource
from headgate.deploy.handles.status_line import prints, status_line, wait_with_line
from headgate.elements import Barrier
from headgate.functions.source import Source
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, CheckpointId, JobId, SubtaskId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_sinks import PrintFactory
from headgate.runtime.control.subtask_metrics import Rates, SubtaskMetrics, Traffic
from headgate.runtime.monitoring.outcome import JobOutcome
from headgate.runtime.monitoring.progress import JobProgress
from tests.unit.runtime.plans import line_plan

SOURCE, SINK = SubtaskId(0, 0), SubtaskId(1, 0)


def plan_of(source: Source[Any]) -> JobGraph:
    return line_plan(source, CollectFactory())


def progress(plan: JobGraph, read: int, **more: object) -> JobProgress:
    def own(lag_ms: int) -> SubtaskMetrics:
        return SubtaskMetrics(
            traffic=Traffic(records_in=read),
            time=Rates().time,
            rates=Rates(records_in=1_234.5),
            watermark_in=None,
            watermark_out=None,
            watermark_lag_ms=lag_ms,
        )

    made = JobProgress(placement=as_programmed(plan), attempt=1, subtasks={SOURCE: own(100), SINK: own(2_345)})
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_a_job_shows_how_much_it_has_read_how_fast_and_how_late_it_is() -> None:
    plan = plan_of(CollectionSource(range(200)))
    line = status_line(plan, "RUNNING", progress(plan, 50), 0)
    assert line == "a job RUNNING | [#####               ] 25% | 1,234 records/s | watermark 2.3 s behind"


def test_a_job_shows_its_newest_checkpoint_and_its_restarts() -> None:
    plan = plan_of(DataGeneratorSource(int, None))
    found = progress(plan, 50, restarts=2, attempt=3)
    barrier = Barrier(CheckpointId(7), 10_000)
    found.statistics.triggered(barrier, Attempt(3), (1, 1), 0.0)
    state = SubtaskState(operators=())
    ack = SubtaskAcked(checkpoint_id=CheckpointId(7), attempt=Attempt(3), subtask=SOURCE, state=state)
    found.statistics.acked(ack, 10_020)
    found.statistics.completed(CheckpointId(7), "somewhere", 45.0)
    line = status_line(plan, "RUNNING", found, 13_400)
    assert "| checkpoint 7 3 s ago, 45 ms |" in line
    assert line.endswith("| 2 restarts")


@pytest.mark.parametrize("source", [DataGeneratorSource(int, None), CollectionSource([])])
def test_a_job_whose_input_has_no_known_size_has_no_bar(source: Source[Any]) -> None:
    plan = plan_of(source)
    assert "%" not in status_line(plan, "RUNNING", progress(plan, 50), 0)


def test_a_job_that_began_again_has_no_bar() -> None:
    plan = plan_of(CollectionSource(range(200)))
    assert "%" not in status_line(plan, "RUNNING", progress(plan, 50, attempt=2), 0)


def test_nothing_is_known_of_a_job_that_does_not_run_yet() -> None:
    plan = plan_of(DataGeneratorSource(int, None))
    assert status_line(plan, "CREATED", JobProgress(placement=as_programmed(plan)), 0) == "a job CREATED | 0 records/s"


def test_jobs_that_print_are_told_from_others() -> None:
    assert prints(line_plan([1], PrintFactory()))
    assert not prints(line_plan([1], CollectFactory()))


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
