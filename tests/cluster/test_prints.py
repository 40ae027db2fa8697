"""What a program on an embedded session prints: in its functions, and with `print()`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.soak]

PROGRAM = """
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment

def told(number):
    print("told", number)
    return number

for mode in ("STREAMING", "BATCH"):
    conf = Configuration.from_dict({"execution.runtime-mode": mode})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(2)
    numbers = env.from_collection(range(100)).rebalance().map(told).name("telling")
    numbers.print("n")
    print(mode, flush=True)
    env.execute(mode)
"""


def test_prints_come_to_standard_output_in_order_and_those_of_functions_say_which_they_are(tmp_path: Path) -> None:
    output = tmp_path / "output"
    with output.open("w") as out:
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    streaming, _, batch = output.read_text().removeprefix("STREAMING\n").partition("BATCH\n")
    for lines in (streaming.splitlines(), batch.splitlines()):
        for subtask in (0, 1):
            sunk = [int(line.partition("> ")[2]) for line in lines if line.startswith(f"n:{subtask + 1}> ")]
            assert sunk == sorted(sunk)
            assert len(sunk) == 50
    for subtask in (0, 1):
        marked = [line for line in streaming.splitlines() if line.startswith(f"[telling {subtask}] told ")]
        assert len(marked) == 50
    assert "told" not in done.stderr
