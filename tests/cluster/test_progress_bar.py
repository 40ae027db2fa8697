"""Spark's progress bar, which sessions of a shell or notebook have: hidden while a job runs, and then there again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import run_apart

pytestmark = [pytest.mark.spark, pytest.mark.soak]

PROGRAM = """
import time

from pyspark.sql import SparkSession

from headgate.common import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment

spark = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false").getOrCreate()


def bars():
    threads = spark.sparkContext._jvm.java.lang.Thread.getAllStackTraces().keySet()
    return sum(thread.getName() == "refresh progress" for thread in threads)


def until(condition):
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def start(name):
    conf = Configuration().set_string("headgate.rest.enabled", "false")
    env = StreamExecutionEnvironment.get_execution_environment(conf, spark=spark).set_parallelism(1)
    numbers = env.from_source(DataGeneratorSource(lambda index: index, None, 100), None, "numbers")
    numbers.filter(lambda number: False).print()
    job = env.execute_async(name)
    until(lambda: job.get_job_status().result().name == "RUNNING")
    return job


print("before", bars())
one, other = start("one"), start("other")
print("while two run", until(lambda: bars() == 0))
one.cancel().result()
print("while one runs", until(lambda: bars() == 0))
other.cancel().result()
print("after", until(lambda: bars() == 1))
"""


def test_the_bar_is_hidden_while_jobs_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    told = run_apart(program, cwd=tmp_path).stdout.splitlines()
    assert told == ["before 1", "while two run True", "while one runs True", "after True"]
