"""`headgate` and a job on Spark that spark-submit has started."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from tests.docs.blocks import active_environment

pytestmark = [pytest.mark.spark, pytest.mark.soak]

PROGRAM = """
import sys
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment

assert sys.argv[1:] == ["--input", "x"], sys.argv
env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(DataGeneratorSource(lambda index: index, None, 100), None, "numbers").uid("numbers")
numbers.rebalance().filter(lambda _: False).uid("none").print().uid("out")
env.execute("endless")
"""


def environ(folder: Path) -> dict[str, str]:
    """That of a user in an active virtual environment. Jobs of other tests, some with killed drivers, are not found."""
    own = {RUN_DIRECTORY: str(folder / "run"), "HEADGATE_STORAGE_DIR": str(folder / "storage")}
    return {**active_environment(), **own}


def headgate(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headgate", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environ(folder), cwd=folder)


def states(folder: Path) -> list[str]:
    return [job["state"] for job in json.loads(headgate(folder, "list", "--all", "--json").stdout)["jobs"]]


def test_a_job_of_spark_submit_gets_the_settings_and_is_found_by_its_storage(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    options = ["--spark-submit", "--master local[3]", "-p", "2", "-D", f"headgate.storage.dir={tmp_path / 'storage'}"]
    command = [sys.executable, "-m", "headgate", "run", *options, "job.py", "--input", "x"]
    with (tmp_path / "output").open("w") as output:
        job = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environ(tmp_path), cwd=tmp_path)
    try:
        due_s = time.monotonic() + 300
        while states(tmp_path) != ["RUNNING"]:
            assert job.poll() is None, (tmp_path / "output").read_text()
            assert time.monotonic() < due_s, states(tmp_path)
        stopped = headgate(tmp_path, "stop", "-p", "savepoints", "endless", "--json")
        assert stopped.returncode == 0, stopped.stderr
        found = headgate(tmp_path, "state", json.loads(stopped.stdout)["location"], "--json")
        assert {operator["parallelism"] for operator in json.loads(found.stdout)["operators"]} == {2}
        assert job.wait(120) == 0
    finally:
        job.kill()
        job.wait()
    assert states(tmp_path) == ["FINISHED"]
