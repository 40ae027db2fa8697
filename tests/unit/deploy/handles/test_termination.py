"""SIGTERM in a process whose jobs run in MiniCluster: here, and in a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from headgate.clock import SystemClock
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.deploy.handles.running_job import RunningJob
from headgate.deploy.handles.termination import EXIT_CODE
from headgate.deploy.local.mini_cluster import LocalHost
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from tests.unit.runtime.plans import line_plan
from tests.unit.web.served import until

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="only a main thread may handle signals"
)
PROGRAM = """
import time
from headgate.common import Configuration, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor

class Nth(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        yield value, self.seen.value() - 1

conf = Configuration.from_dict({
    "headgate.deploy.target": "minicluster",
    "headgate.job.id": "0123456789abcdef0123456789abcdef",
    "headgate.storage.dir": "storage",
    "execution.checkpointing.interval": "1 h",
})
env = StreamExecutionEnvironment.get_execution_environment(conf)
numbers = env.from_source(DataGeneratorSource(lambda index: index, 10**9, 500), None, "numbers")
numbers.key_by(lambda number: "all").process(Nth()).map(str).print()
"""
WAITS = "env.execute('suspended')"
GOES_ON = """
client = env.execute_async("suspended")
while True:
    time.sleep(0.1)
"""


@pytest.fixture
def handled() -> Iterator[list[int]]:
    """A program with a handler of its own, and what that has got."""
    got: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        got.append(number)

    before = signal.signal(signal.SIGTERM, handler)
    yield got
    assert signal.getsignal(signal.SIGTERM) is handler
    signal.signal(signal.SIGTERM, before)


def endless() -> RunningJob:
    plan = line_plan(RateLimitedSource(NumberSequenceSource(0, 10**9), 100.0), CollectFactory())
    return RunningJob(plan, LocalHost(plan, SystemClock()))


def test_sigterm_suspends_all_jobs_and_then_calls_the_handler_that_the_program_had(handled: list[int]) -> None:
    jobs = [endless().start(), endless().start()]
    signal.raise_signal(signal.SIGTERM)
    assert [job.status() for job in jobs] == [JobStatus.SUSPENDED, JobStatus.SUSPENDED]
    assert handled == [signal.SIGTERM]


def test_the_handler_that_the_program_had_comes_back_when_the_last_job_has_ended(handled: list[int]) -> None:
    own = signal.getsignal(signal.SIGTERM)
    first, second = endless().start(), endless().start()
    first.cancel()
    first.wait()
    assert signal.getsignal(signal.SIGTERM) is not own
    second.cancel()
    second.wait()
    assert signal.getsignal(signal.SIGTERM) is own


def test_a_handler_that_the_program_sets_while_a_job_runs_counts_from_the_next_job_on() -> None:
    before = signal.getsignal(signal.SIGTERM)
    first = endless().start()
    got: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: got.append(number))
    second = endless().start()
    signal.raise_signal(signal.SIGTERM)
    assert got == [signal.SIGTERM]
    assert [job.status() for job in (first, second)] == [JobStatus.SUSPENDED, JobStatus.SUSPENDED]
    signal.signal(signal.SIGTERM, before)


def test_a_job_that_another_thread_has_started_leaves_sigterm_alone(handled: list[int]) -> None:
    own = signal.getsignal(signal.SIGTERM)
    jobs: list[RunningJob] = []
    thread = threading.Thread(target=lambda: jobs.append(endless().start()))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is own
    jobs[0].cancel()
    jobs[0].wait()


def end(folder: Path, when: Callable[[list[str]], bool]) -> tuple[int, str]:
    """Run the program until its output is so, send SIGTERM; return its exit code and what it said."""
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        program = subprocess.Popen([sys.executable, "job.py"], cwd=folder, stdout=out, stderr=err)
    try:
        until(lambda: program.poll() is not None or when((folder / "out").read_text().splitlines()))
        program.terminate()
        return program.wait(300), (folder / "err").read_text()
    finally:
        program.kill()


@pytest.mark.slow
@pytest.mark.parametrize("ending", [WAITS, pytest.param(GOES_ON, marks=pytest.mark.soak)])
def test_a_program_that_gets_sigterm_goes_on_where_it_was_when_it_is_started_again(tmp_path: Path, ending: str) -> None:
    (tmp_path / "job.py").write_text(PROGRAM + ending)
    code, said = end(tmp_path, lambda lines: len(lines) > 20)
    assert code == EXIT_CODE
    assert re.fullmatch(
        r"headgate: job 0123\w+ is suspended: its last checkpoint is \S+/chk-1: start the same program again, and it "
        r"goes on from there\n",
        said,
    )
    assert not list(tmp_path.glob("storage/*/_result"))
    before = (tmp_path / "out").read_text().splitlines()
    code, _ = end(tmp_path, lambda lines: len(lines) > 20)
    after = (tmp_path / "out").read_text().splitlines()
    assert code == EXIT_CODE
    assert all(line == f"({number}, {number})" for number, line in enumerate(before))
    first = int(after[0][1:].partition(",")[0])
    assert 0 < first <= len(before)
    assert all(line == f"({first + index}, {first + index})" for index, line in enumerate(after))
