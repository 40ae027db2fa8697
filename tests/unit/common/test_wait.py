"""Ctrl-C while a program waits for its job: one line, no traceback, and the exit code of an interrupt."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

JOB_ID = "0123456789abcdef" * 2
INTERRUPTED = 130
DEADLINE_S = 120.0

PROGRAM = """
import pathlib
import time

from headgate.common import Configuration
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.datastream.functions import CheckpointListener
from headgate.datastream import MapFunction

READY = pathlib.Path({folder!r}, "ready")


class Ready(MapFunction, CheckpointListener):
    def map(self, value):
        if {ready_at_once}:
            READY.touch()
        return value

    def notify_checkpoint_complete(self, checkpoint_id):
        READY.touch()


env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({settings!r})).set_parallelism(1)
env.set_runtime_mode(RuntimeExecutionMode.{mode})
stream = env.from_source(RateLimitedSource(NumberSequenceSource(0, 10**6), 1_000.0), None, "numbers").map(Ready())
{end}
"""
EXECUTE = "stream.print()\nenv.execute()"
ITERATE = "for record in stream.execute_and_collect():\n    print(record)"
CATCH = """
stream.print()
try:
    env.execute()
except KeyboardInterrupt as interrupt:
    print("caught", interrupt)
"""

SLOW_START = """
class Slow(MapFunction):
    def map(self, value):
        return value

    def __getstate__(self):
        READY.touch()
        time.sleep(120)


stream.map(Slow()).print()
env.execute()
"""


class Interrupted:
    """A program that was interrupted while its job ran."""

    def __init__(
        self,
        folder: Path,
        *,
        runner: tuple[str, ...] = (),
        end: str = EXECUTE,
        mode: str = "STREAMING",
        **settings: str,
    ) -> None:
        given = {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
        given = {"headgate.deploy.target": "minicluster", "headgate.job.id": JOB_ID, **given}
        program = folder / "program.py"
        ready_at_once = "execution.checkpointing.interval" not in given
        program.write_text(
            PROGRAM.format(folder=str(folder), settings=given, end=end, mode=mode, ready_at_once=ready_at_once)
        )
        process = subprocess.Popen(
            [sys.executable, *runner, str(program)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_RUNTIME_DIR": str(folder), "HEADGATE_RUN_DIR": str(folder)},
            # Background jobs of a shell ignore the signal, and so would the program.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        try:
            due_s = time.monotonic() + DEADLINE_S
            while not (folder / "ready").exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < due_s
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            self.output, errors = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()
        self.code = process.returncode
        # A Python that an interrupt ends dies by the signal, for which a shell says 130.
        self.shell_code = 128 - self.code if self.code < 0 else self.code
        self.told = [line for line in errors.splitlines() if line]

    @property
    def line(self) -> str:
        """All that the program has said on standard error."""
        (line,) = (told for told in self.told if "opens the page" not in told)
        return line


@pytest.mark.parametrize(
    "runner",
    [pytest.param((), id="python"), pytest.param(("-m", "headgate", "run"), id="headgate run", marks=pytest.mark.soak)],
)
def test_an_interrupt_says_where_the_job_can_go_on(runner: tuple[str, ...], tmp_path: Path) -> None:
    ended = Interrupted(
        tmp_path,
        runner=runner,
        execution__checkpointing__interval="50 ms",
        execution__checkpointing__dir=str(tmp_path / "storage"),
        execution__checkpointing__externalized_checkpoint_retention="RETAIN_ON_CANCELLATION",
    )
    told = re.fullmatch(
        rf"headgate: job {JOB_ID} is cancelled: its newest checkpoint stays: (\S+/chk-\d+)\. To go on from it, under "
        r"another job id: headgate run -Dexecution.state-recovery.path=(\S+) PROGRAM",
        ended.line,
    )
    assert told, ended.told
    assert told[1] == told[2]
    assert Path(told[1], "_metadata").exists()
    assert ended.shell_code == INTERRUPTED


@pytest.mark.soak
def test_an_interrupt_says_that_checkpoints_are_deleted_and_how_to_keep_them(tmp_path: Path) -> None:
    ended = Interrupted(
        tmp_path,
        execution__checkpointing__interval="50 ms",
        execution__checkpointing__dir=str(tmp_path / "storage"),
    )
    assert (
        "is cancelled: its checkpoints are deleted; with execution.checkpointing.externalized-checkpoint-retention"
        in (ended.line)
    )
    assert ended.shell_code == INTERRUPTED


@pytest.mark.parametrize(
    "end",
    [pytest.param(EXECUTE, id="execute"), pytest.param(ITERATE, id="execute_and_collect", marks=pytest.mark.soak)],
)
def test_an_interrupt_says_that_a_job_without_checkpoints_begins_anew(end: str, tmp_path: Path) -> None:
    ended = Interrupted(tmp_path, end=end)
    assert ended.line == (
        f"headgate: job {JOB_ID} is cancelled: it had completed no checkpoint; start the program again under another "
        "headgate.job.id, and it begins where this run began"
    )
    assert ended.shell_code == INTERRUPTED


@pytest.mark.soak
def test_an_interrupt_of_a_job_in_batch_mode_says_that_its_results_are_discarded(tmp_path: Path) -> None:
    ended = Interrupted(tmp_path, mode="BATCH")
    assert "is cancelled: its results are discarded; start the program again" in ended.line
    assert ended.shell_code == INTERRUPTED


def test_a_program_may_catch_the_interrupt(tmp_path: Path) -> None:
    ended = Interrupted(tmp_path, end=CATCH)
    assert ended.code == 0
    assert f"caught job {JOB_ID} is cancelled: " in ended.output


def test_an_interrupt_before_the_job_runs_is_told_without_a_traceback(tmp_path: Path) -> None:
    ended = Interrupted(tmp_path, end=SLOW_START)
    assert ended.line == "headgate: interrupted before the job had begun"
    assert ended.shell_code == INTERRUPTED
