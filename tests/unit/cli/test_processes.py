"""`headgate` as a user has it: processes that operate a job in another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.cli.exits import ExitCode
from tests.unit.web.served import until

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from headgate.common import Types
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor

class Number:
    def __init__(self, value):
        self.value = value

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, number, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield self.count.value(), number.value

assert sys.argv[1:] == ["--input", "x"], sys.argv
env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(RateLimitedSource(NumberSequenceSource(1, 10**9), 500), None, "numbers").uid("numbers")
counted = numbers.map(Number).uid("objects").key_by(lambda number: "all").process(Count()).uid("counter")
counted.map(lambda pair: "same" if pair[0] == pair[1] else f"not the same: {pair}").uid("compare").print().uid("out")
env.execute("word-count")
"""


@dataclass
class Shell:
    """Commands of one user, who keeps everything in one folder."""

    folder: Path

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, RUN_DIRECTORY: str(self.folder / "run")}
        command = [sys.executable, "-m", "headgate", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environ, cwd=self.folder)

    def run(self, *words: str) -> int:
        """Start the program in the background; return the number of its process."""
        target = ["-D", "headgate.deploy.target=minicluster", "-D", f"headgate.storage.dir={self.folder / 'storage'}"]
        every = ["-D", "execution.checkpointing.interval=50 ms", "--log", "log"]
        done = self("run", "-d", "--json", *target, *every, *words, "job.py", "--input", "x")
        assert done.returncode == 0, done.stderr
        return int(json.loads(done.stdout)["pid"])

    def lines(self) -> list[str]:
        """What the job has printed, without what headgate tells of it."""
        printed = (self.folder / "log").read_text().splitlines()
        return [line for line in printed if not line.startswith("headgate: ")]


@pytest.fixture
def headgate(tmp_path: Path) -> Iterator[Shell]:
    (tmp_path / "job.py").write_text(PROGRAM)
    shell = Shell(tmp_path)
    yield shell
    if (tmp_path / "log").exists():  # else no job was started in the background
        for job in json.loads(shell("list", "--json").stdout)["jobs"]:
            if job["state"] != "LOST":
                shell("cancel", job["jid"])


def test_a_job_is_run_listed_stopped_and_started_again_from_its_savepoint(headgate: Shell) -> None:
    headgate.run()
    assert "RUNNING" in headgate("list").stdout
    until(lambda: len(headgate.lines()) > 50)
    taken = headgate("savepoint", "word-count", "savepoints")
    assert taken.stdout.startswith("Savepoint completed. Path: ")
    stopped = headgate("stop", "--savepointPath", "savepoints", "--json", "word-count")
    location = json.loads(stopped.stdout)["location"]
    assert headgate("list", "--json").stdout.strip() == '{\n  "jobs": []\n}'
    before = len(headgate.lines())
    headgate.run("-s", location)
    until(lambda: len(headgate.lines()) > before + 50)
    assert headgate("cancel", "word-count").returncode == 0
    assert set(headgate.lines()[:-1]) == {"same"}  # each number is the count of those so far, across both runs


def test_a_job_whose_driver_was_killed_is_an_exit_code_and_can_be_started_again(headgate: Shell) -> None:
    pid = headgate.run()
    until(lambda: "chk-" in headgate("checkpoints", "word-count").stdout)
    os.kill(pid, signal.SIGKILL)
    until(lambda: "LOST" in headgate("list").stdout)
    done = headgate("stop", "word-count")
    assert done.returncode == ExitCode.UNREACHABLE
    assert "headgate run -s " in done.stderr
    path = done.stderr.partition("headgate run -s ")[2].split()[0]
    before = len(headgate.lines())
    headgate.run("-s", path)
    until(lambda: len(headgate.lines()) > before + 20)
    assert not [line for line in headgate.lines() if line.startswith("not the same")]


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        pytest.param("1 / 0", 1, 'job.py", line 1, in <module>', marks=pytest.mark.soak),
        (
            "env.from_collection([0]).map(lambda n: 1 / n).print(); env.execute()",
            ExitCode.JOB_FAILED,
            "division by zero",
        ),
        pytest.param("env.from_collection([0]).print(); env.execute()", 0, "", marks=pytest.mark.soak),
    ],
)
def test_how_a_program_ends_is_the_exit_code(headgate: Shell, program: str, code: int, said: str) -> None:
    begin = "from headgate.datastream import StreamExecutionEnvironment as E; env = E.get_execution_environment(); "
    (headgate.folder / "job.py").write_text(begin + program)
    done = headgate("run", "-Dheadgate.deploy.target=minicluster", "job.py")
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "headgate/cli" not in done.stderr


def test_a_wrong_setting_is_told_in_one_line(headgate: Shell) -> None:
    wrong = "-Dparallelism.default=many"
    done = headgate("run", "-Dheadgate.deploy.target=minicluster", wrong, "job.py", "--input", "x")
    assert done.returncode == ExitCode.FAILED
    assert "Traceback" not in done.stderr
    assert "parallelism.default" in done.stderr
    assert "'many'" in done.stderr


def test_of_a_program_that_ends_at_once_only_its_own_output_is_told(headgate: Shell) -> None:
    (headgate.folder / "log").write_text("of an earlier program\n")
    (headgate.folder / "job.py").write_text("print('nothing to run')")
    done = headgate("run", "-d", "--log", "log", "job.py")
    assert done.returncode == ExitCode.FAILED
    assert done.stderr.endswith("log ends with\nnothing to run\n")


def test_nothing_is_started_that_could_not_be_found_again(headgate: Shell) -> None:
    (headgate.folder / "run").mkdir(mode=0o755)
    done = headgate("run", "-d", "--log", "log", "job.py", "--input", "x")
    assert done.returncode == ExitCode.FAILED
    assert "is open to other users" in done.stderr
    assert "chmod 700" in done.stderr
    assert not (headgate.folder / "log").exists()
    (headgate.folder / "run").rmdir()
