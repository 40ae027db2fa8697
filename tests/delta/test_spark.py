"""A job on Spark that appends to a Delta table, and one of whose workers is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.delta.tables import rows_of, versions_of

RECORDS = 2_000
PROGRAM = f"""
import os
import signal
import time
from pathlib import Path

import pyarrow as pa

from headgate.common import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.delta import DeltaSink
from headgate.datastream import StreamExecutionEnvironment

HERE = Path.cwd()

def worded(number):
    if number == {RECORDS // 2} and not (HERE / "killed").exists():
        (HERE / "killed").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    return number, f"word-{{number % 7}}"

conf = Configuration.from_dict({{"headgate.storage.dir": "storage", "execution.checkpointing.interval": "100 ms"}})
env = StreamExecutionEnvironment.get_execution_environment(conf).set_parallelism(2)
schema = pa.schema([("number", pa.int64()), ("word", pa.string())])
numbers = env.from_source(DataGeneratorSource(lambda index: index, {RECORDS}, 1_000.0), None, "numbers")
numbers.map(worded).sink_to(DeltaSink("table", schema, partition_by=["word"]))
env.execute("to a table")
"""


@pytest.mark.soak
@pytest.mark.spark
def test_a_worker_that_is_killed_neither_loses_nor_doubles_a_record(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "killed").exists()
    assert rows_of(tmp_path / "table") == [{"number": n, "word": f"word-{n % 7}"} for n in range(RECORDS)]
    assert versions_of(tmp_path / "table") > 2
