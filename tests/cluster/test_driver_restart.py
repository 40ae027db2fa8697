"""A driver on Spark that is killed, and a program that is started again and goes on from its job's last checkpoint."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.soak]

RECORDS = 3_000
PROGRAM = f"""
from headgate.common import Configuration, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headgate.datastream.connectors.file_system import Encoder, FileSink
from headgate.datastream.state import ValueStateDescriptor

class Nth(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        yield f"{{ctx.get_current_key()}} {{self.seen.value()}}"

conf = Configuration.from_dict({{
    "headgate.job.id": "0123456789abcdef0123456789abcdef",
    "headgate.storage.dir": "storage",
    "execution.checkpointing.interval": "100 ms",
}})
env = StreamExecutionEnvironment.get_execution_environment(conf).set_parallelism(2)
numbers = env.from_source(DataGeneratorSource(lambda index: index, {RECORDS}, 600), None, "numbers")
counted = numbers.key_by(lambda number: number % 7).process(Nth())
counted.sink_to(FileSink.for_row_format("out", Encoder.simple_string_encoder()).build())
env.execute("counts")
"""
EXPECTED = Counter(f"{key} {nth + 1}" for key in range(7) for nth in range(len(range(key, RECORDS, 7))))


def start(folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "output").open("ab") as output:
        return subprocess.Popen([sys.executable, "job.py"], cwd=folder, stdout=output, stderr=output)


def checkpoints(folder: Path) -> set[str]:
    return {path.parent.name for path in (folder / "storage").glob("*/chk-*/_metadata")}


def lines(folder: Path) -> list[str]:
    files = [path for path in (folder / "out").rglob("*") if path.is_file() and not path.name.startswith((".", "_"))]
    return [line for path in files for line in path.read_text().splitlines()]


def test_a_program_whose_driver_was_killed_goes_on_from_the_last_checkpoint_when_started_again(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    first = start(tmp_path)
    try:
        due_s = time.monotonic() + 120.0
        while not lines(tmp_path):
            assert first.poll() is None, (tmp_path / "output").read_text()
            assert time.monotonic() < due_s
            time.sleep(0.05)
        os.kill(first.pid, signal.SIGKILL)
    finally:
        first.kill()
        first.wait()
    before = lines(tmp_path)
    assert 0 < len(before) < RECORDS
    assert checkpoints(tmp_path) != set()
    again = start(tmp_path)
    try:
        assert again.wait(120.0) == 0, (tmp_path / "output").read_text()
    finally:
        again.kill()
    assert Counter(lines(tmp_path)) == EXPECTED
