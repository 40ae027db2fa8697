"""What failed stages say."""

from __future__ import annotations

import re

import pytest

from headgate.deploy.spark.spark_error import explain, is_refusal

PREFIX = "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
ABORTED = (
    PREFIX + ": org.apache.spark.SparkException: Job aborted due to stage failure: Could not recover from a failed "
    "barrier ResultStage. Most recent failure reason: Stage failed because barrier task ResultTask(0, 1) finished "
    "unsuccessfully.\n"
)
WORKER = ABORTED + "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
EARLY_END = (
    ABORTED + "org.apache.spark.SparkException: EOFException occurred while reading the port number from "
    "pyspark.daemon's stdout"
)
TRACEBACK = (
    ABORTED + "org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the Python "
    'worker: Traceback (most recent call last):\n  File "worker.py", line 4327, in invoke_udf\n    run_process()\n'
)


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
            EARLY_END + " and terminated with code: 1.\n\tat org",
            r"it printed nothing \(exit code 1\). Name another one",
        ),
        (EARLY_END + " and terminated with code: 137..\n\tat org", "workers was ended by SIGKILL: the machine, or its"),
        (EARLY_END + ".\n\tat org", "workers died as it started .it was killed"),
        (
            ABORTED + "org.apache.spark.SparkException: \nBad data in pyspark.daemon's standard output. Invalid port "
            "number:\n  1751216160 (0x68616c20)\n\tat",
            "prints something as it starts: .*sitecustomize",
        ),
        (
            ABORTED + "org.apache.spark.SparkException: Python worker process terminated due to idle timeout "
            "(timeout: 60 seconds)\n\tat org",
            "timeout: 60 seconds.*: set spark.python.worker.killOnIdleTimeout=false",
        ),
        (PREFIX + ": org.apache.spark.SparkException: Job 5 cancelled as part of cancellation of all jobs\n", "Job 5"),
        (
            ABORTED + "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n",
            "a Python worker died",
        ),
        (ABORTED + "java.io.EOFException\n\tat java.base", "^a Python worker died"),
        (ABORTED + "java.lang.OutOfMemoryError: Java heap space\n\tat java", "^OutOfMemoryError: Java heap space$"),
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


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("MemoryError", "MemoryError"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("rules.Odd: one\ntwo: lines", "Odd: one two: lines"),
        (
            "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n"
            'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    f()\n'
            "OSError: [Errno 28] No space left",
            "OSError: [Errno 28] No space left",
        ),
        (f"StorageError: {'x' * 1500}: the end", f"StorageError: {'x' * 1500}: the end"),
    ],
)
def test_an_error_of_python_is_told_whole(raised: str, told: str) -> None:
    assert explain(f"{TRACEBACK}{raised}\n SQLSTATE: 38000\n\n\tat org.apache.spark") == told


def test_the_errors_of_a_group_are_told_with_it() -> None:
    report = (
        ABORTED + "org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the "
        "Python worker:   + Exception Group Traceback (most recent call last):\n"
        '  |   File "x.py", line 34, in f\n  |     raise some()\n'
        "  | ExceptionGroup: several (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n"
        "    | ValueError: x\n    +---------------- 2 ----------------\n    | MemoryError\n"
        "    +------------------------------------\n SQLSTATE: 38000\n\n\tat org"
    )
    assert explain(report) == "ExceptionGroup: several (2 sub-exceptions) ValueError: x MemoryError"


@pytest.mark.parametrize(
    "report",
    [
        WORKER + "ModuleNotFoundError: No module named 'pyarrow'\n",
        WORKER + "ImportError: libarrow.so: cannot open shared object file\n\tat",
        ABORTED + 'java.io.IOException: Cannot run program "python4": error=2, No such file or directory\n\tat',
        ABORTED + "SparkException: \nError from python worker:\n  python3: not found\nPYTHONPATH was:\n  /x.zip\n",
        EARLY_END + " and terminated with code: 1.",
        PREFIX
        + ": org.apache.spark.SparkException: [SPARK-24819]: Barrier execution mode does not allow run a barrier",
        "the job needs 4 task slots, but Spark has 2 free ones for it",
    ],
)
def test_a_cluster_that_refuses_and_a_python_that_cannot_start_are_final(report: str) -> None:
    assert is_refusal(report)


@pytest.mark.parametrize(
    "report",
    [
        EARLY_END + " and terminated with code: 137..",
        EARLY_END + " and terminated with code: 143..",
        EARLY_END + ".",
        ABORTED + "SparkException: \nError from python worker:\n  a warning\nPYTHONPATH was:\n  /x.zip\n"
        "SparkException: EOFException occurred while reading the port number from pyspark.daemon's stdout and "
        "terminated with code: 137.",
        ABORTED + "java.io.EOFException\n\tat java.base",
        ABORTED + "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n",
        ABORTED + "ExecutorLostFailure (executor 1 exited caused by one of the running tasks)",
        TRACEBACK + "MemoryError\n SQLSTATE: 38000\n",
        PREFIX + ": org.apache.spark.SparkException: Job 5 cancelled part of cancelled job group x\n",
    ],
)
def test_a_worker_that_was_lost_and_a_stage_that_was_cancelled_are_not(report: str) -> None:
    assert not is_refusal(report)
