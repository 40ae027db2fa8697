"""A program on an embedded session that is told to end, or whose JVM dies: what it says, and that it can go on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
from headgate.common import Configuration, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor

class Nth(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        if value + 1 != self.seen.value():
            raise ValueError(f"{value} is number {self.seen.value()}")
        yield value

conf = Configuration.from_dict({
    "headgate.job.id": "0123456789abcdef0123456789abcdef",
    "headgate.storage.dir": "storage",
    "execution.checkpointing.interval": "100 ms",
})
env = StreamExecutionEnvironment.get_execution_environment(conf).set_parallelism(1)
numbers = env.from_source(DataGeneratorSource(lambda index: index, 10**9, 500), None, "numbers")
numbers.key_by(lambda number: "all").process(Nth()).filter(lambda number: False).print()
env.execute("ends")
"""
USES_AN_ACCUMULATOR = """
import os
import sys
from pyspark.sql import SparkSession

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[3]").getOrCreate()
seen = spark.sparkContext.accumulator(0)
spark.sparkContext.parallelize([1]).foreach(seen.add)
"""
GOES_ON = r"its last checkpoint is \S+/chk-\d+: start the same program again, and it goes on from there"


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ended(folder: Path, end: Callable[[int], None]) -> tuple[int, str]:
    """Run the program until it has made a checkpoint of its own, end it; return its exit code and what it said."""
    before = set(folder.glob("storage/*/chk-*/_metadata"))
    with (folder / "err").open("wb") as err:
        program = subprocess.Popen([sys.executable, "job.py"], cwd=folder, stderr=err, start_new_session=True)
    try:
        due_s = time.monotonic() + 240.0
        while not set(folder.glob("storage/*/chk-*/_metadata")) - before:
            assert program.poll() is None, (folder / "err").read_text()
            assert time.monotonic() < due_s
            time.sleep(0.05)
        end(program.pid)
        return program.wait(120), (folder / "err").read_text()
    finally:
        program.kill()


def test_a_program_that_is_told_to_end_goes_on_with_its_own_last_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    code, said = ended(tmp_path, lambda pid: os.kill(pid, signal.SIGTERM))
    assert code == 128 + signal.SIGTERM
    assert re.search(f"^headgate: job 0123\\w+ is suspended: {GOES_ON}$", said, re.MULTILINE)
    assert "Traceback" not in said
    assert not list(tmp_path.glob("storage/*/_result"))
    # The same again, of the whole process group: the JVM and all slots are told, too, and may be gone at once.
    code, said = ended(tmp_path, lambda pid: os.killpg(pid, signal.SIGTERM))
    assert code == 128 + signal.SIGTERM
    assert re.search(f"^headgate: job 0123\\w+ is suspended: (.*; )?{GOES_ON}$", said, re.MULTILINE)
    assert "Traceback" not in said
    assert "py4j" not in said.lower()


@pytest.mark.parametrize(
    ("first", "how"),
    [
        pytest.param("", signal.SIGKILL, marks=(pytest.mark.soak, pytest.mark.long)),  # the last does that, too
        pytest.param("", signal.SIGTERM, marks=pytest.mark.soak),
        # The JVM holds a connection now, of which pyspark prints a traceback when the JVM is gone.
        (USES_AN_ACCUMULATOR, signal.SIGKILL),
    ],
    ids=["killed", "told", "killed-with-accumulators"],
)
def test_a_program_whose_jvm_dies_names_the_checkpoint_that_it_goes_on_from(
    tmp_path: Path, first: str, how: signal.Signals
) -> None:
    (tmp_path / "job.py").write_text(first + PROGRAM)
    code, said = ended(tmp_path, lambda pid: os.kill(children(pid)[0], how))
    assert code == 1
    assert re.search(f"JobSuspendedError: job 0123\\w+ is suspended: Spark is gone: .*; {GOES_ON}$", said, re.MULTILINE)
    assert said.count("Traceback") == 1, "that of the program's own line"
    assert "py4j" not in said.lower()
    assert not list(tmp_path.glob("storage/*/_result"))
