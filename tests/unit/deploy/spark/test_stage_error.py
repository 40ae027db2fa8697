"""What failed stages say."""

from __future__ import annotations

import re

import pytest

from headgate.deploy.spark.stage_error import explain

PREFIX = "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
ABORTED = (
    PREFIX + ": org.apache.spark.SparkException: Job aborted due to stage failure: Could not recover from a failed "
    "barrier ResultStage. Most recent failure reason: Stage failed because barrier task ResultTask(0, 1) finished "
    "unsuccessfully.\n"
)
WORKER = ABORTED + "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (WORKER + "ModuleNotFoundError: No module named 'pyarrow'\n SQLSTATE: 38000", "install .headgate.spark."),
        (WORKER + "ModuleNotFoundError: No module named 'headgate'\n", "PYSPARK_PYTHON"),
        (
            WORKER + "ModuleNotFoundError: No module named 'my_rules.late'\n",
            "module 'my_rules.late'.*set_python_requirements",
        ),
        (
            WORKER + "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker "
            "has different version: 3.12 than that in driver: 3.11, PySpark cannot run.\n",
            "3.12 than that in driver: 3.11.*PYSPARK_PYTHON",
        ),
        (
            ABORTED
            + 'java.io.IOException: Cannot run program "./env/bin/python": error=2, No such file or directory\n\tat',
            "cannot start the Python ./env/bin/python: No such file or directory. Name one",
        ),
        (
            ABORTED + "org.apache.spark.SparkException: \nError from python worker:\n  Loading\n  python3: not found\n"
            "PYTHONPATH was:\n  /pyspark.zip\norg.apache.spark.SparkException: EOFException occurred\n\tat org",
            "ends as soon as it is started: python3: not found. Name another one: PYSPARK_PYTHON",
        ),
        (
            ABORTED + "org.apache.spark.SparkException: EOFException occurred while reading the port number from "
            "pyspark.daemon's stdout.\n\tat org",
            "ends as soon as it is started: it printed nothing. Name another one",
        ),
        (PREFIX + ": org.apache.spark.SparkException: Job 5 cancelled as part of cancellation of all jobs\n", "Job 5"),
        (
            ABORTED + "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n",
            "a Python worker died",
        ),
        (ABORTED + "ExecutorLostFailure (executor 1 exited caused by one of the running tasks)", "executor 1 exited"),
        (
            WORKER + "headgate.errors.StorageError: slot 1 ends itself: no answer\n\tat org.apache",
            "^StorageError: slot 1 ends itself: no answer$",
        ),
        (
            PREFIX + ": java.lang.IllegalStateException: SparkContext has been shutdown\n\tat org",
            "^SparkContext has been",
        ),
        ("something else\nand more", "^something else$"),
    ],
)
def test_the_cause_is_told_in_a_line(report: str, told: str) -> None:
    text = explain(report)
    assert re.search(told, text), text
    assert "\n" not in text
    assert len(text) < 600
