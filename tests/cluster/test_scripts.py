"""Programs as users start them: a script, an embedded session, the terminal's Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.spark

END_S_MAX = 120.0

CLASSES = """
import dataclasses, os, pathlib, sys

from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headgate.common import Types
from headgate.datastream.state import ValueStateDescriptor

MARKER = pathlib.Path(sys.argv[1])


@dataclasses.dataclass
class Reading:
    sensor: int
    value: int


class Total:
    def __init__(self):
        self.values = []

    def add(self, reading):
        self.values.append(reading)
        return sum(reading.value for reading in self.values)


class Sum(KeyedProcessFunction):
    def open(self, context):
        self.total = context.get_state(ValueStateDescriptor("total", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, reading, context):
        assert type(reading) is Reading
        if reading.value == 600 and not MARKER.exists():
            MARKER.touch()
            os.kill(os.getpid(), 9)
        total = self.total.value() or Total()
        result = total.add(reading)
        self.total.update(total)
        yield Reading(reading.sensor, result)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.enable_checkpointing(50)
source = DataGeneratorSource(lambda index: Reading(index % 2, index), 1000, 2000)
readings = env.from_source(source, None, "readings").key_by(lambda reading: reading.sensor)
results = list(readings.process(Sum()).execute_and_collect())
print("RESULT", MARKER.exists(), len(results), max(reading.value for reading in results))
"""

ENDLESS = """
import logging, os, pathlib, sys

from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment

MARKS = sys.argv[1]  # a worker has arguments of its own
print("before the job")
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)


def shout(number):
    if number < 2:
        pathlib.Path(MARKS, f"pid-{os.getpid()}").touch()
        print(f"number {number} in a slot")
        logging.getLogger("mine").info("log of %d", number)
    return number


numbers = env.from_source(DataGeneratorSource(lambda index: index, None, 100), None, "numbers")
numbers.rebalance().map(shout).filter(lambda _: False).print()
env.execute("endless job")
"""


LEAVING = """
import time

env.enable_checkpointing(50)
env.get_checkpoint_config().set_checkpoint_storage_dir(f"file:{MARKS}/checkpoints")
env.execute_async("left running")
while not pathlib.Path(MARKS, "leave").exists():
    time.sleep(0.05)
print("leaving")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The only place where a script may leave temporary files."""
    (tmp_path / "tmp").mkdir()
    return tmp_path


def start(script: str, folder: Path) -> subprocess.Popen[str]:
    path = folder / "job.py"
    path.write_text(script)
    environ = {**os.environ, "TMPDIR": str(folder / "tmp"), "PYTHONUNBUFFERED": "1"}
    environ.pop("PYSPARK_PYTHON", None)
    with (folder / "output").open("w") as output:
        return subprocess.Popen(
            [sys.executable, str(path), str(folder / "marks")],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environ,
            cwd=folder,
            text=True,
            start_new_session=True,
        )


def output_of(folder: Path) -> str:
    return (folder / "output").read_text()


def wait_for_text(folder: Path, text: str, script: subprocess.Popen[str], timeout_s: float = 120.0) -> None:
    due_s = time.monotonic() + timeout_s
    while text not in output_of(folder):
        assert script.poll() is None, output_of(folder)
        assert time.monotonic() < due_s, output_of(folder)
        time.sleep(0.05)


def left_behind(folder: Path) -> list[str]:
    """Temporary files that are there still, but for the JVM's own."""
    return [path.name for path in (folder / "tmp").iterdir() if not path.name.startswith("hsperf")]


@pytest.fixture
def endless(folder: Path) -> Iterator[subprocess.Popen[str]]:
    (folder / "marks").mkdir()
    script = start(ENDLESS, folder)
    try:
        wait_for_text(folder, "log of 1", script)
        wait_for_text(folder, "log of 0", script)
        yield script
    finally:
        if script.poll() is None:
            script.kill()


@pytest.mark.soak
def test_ctrl_c_leaves_no_process_and_no_file(endless: subprocess.Popen[str], folder: Path) -> None:
    family = psutil.Process(endless.pid).children(recursive=True)
    slots = {int(path.name.partition("-")[2]) for path in (folder / "marks").iterdir()}
    assert len(slots) == 2
    assert slots <= {process.pid for process in family}
    os.killpg(endless.pid, signal.SIGINT)
    assert endless.wait(END_S_MAX) == -signal.SIGINT
    _, left = psutil.wait_procs(family, timeout=300.0)
    assert left == []
    assert left_behind(folder) == []
    told = output_of(folder)
    assert "is cancelled: it had completed no checkpoint" in told.splitlines()[-1]
    assert "Traceback" not in told
    assert "py4j" not in told
    assert "number 0 in a slot" in told
    assert "INFO ['endless job' slot" in told
    assert "attempt 1 'Map' subtask" in told


def test_a_driver_that_is_killed_takes_its_slots_along(endless: subprocess.Popen[str]) -> None:
    family = psutil.Process(endless.pid).children(recursive=True)
    endless.kill()
    endless.wait(END_S_MAX)
    _, left = psutil.wait_procs(family, timeout=END_S_MAX)
    assert left == []


def test_records_and_state_hold_classes_of_the_main_script_across_a_killed_worker(folder: Path) -> None:
    script = start(CLASSES, folder)
    assert script.wait(120.0) == 0, output_of(folder)
    total = sum(range(1, 1000, 2))
    assert f"RESULT True 1000 {total}" in output_of(folder)
    assert left_behind(folder) == []


@pytest.mark.soak
def test_a_program_that_ends_before_its_job_ends_the_job(folder: Path) -> None:
    (folder / "marks").mkdir()
    script = start(ENDLESS.replace('env.execute("endless job")', LEAVING), folder)
    wait_for_text(folder, "log of 0", script)
    family = psutil.Process(script.pid).children(recursive=True)
    (folder / "marks" / "leave").touch()
    assert script.wait(END_S_MAX) == 0, output_of(folder)
    _, left = psutil.wait_procs(family, timeout=300.0)
    assert left == []
    assert left_behind(folder) == []
    checkpoints = folder / "marks" / "checkpoints"
    assert [path.name for path in checkpoints.rglob("*") if path.is_file()] == ["_result"]
    assert "leaving" in output_of(folder).splitlines()
