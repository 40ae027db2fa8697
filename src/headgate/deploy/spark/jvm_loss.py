"""Detects that the JVM has ended, and suppresses useless reports of py4j and pyspark about it."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final, final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

GONE: Final = "Spark is gone: the session was stopped, or its JVM has died"
JVM_ERRORS: Final = (Py4JError, PySparkException, OSError)
"""Errors of calls to a JVM that has ended."""


def is_gone(spark: SparkSession) -> bool:
    """Return whether the session has been stopped, or its JVM has died."""
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except Exception:  # noqa: BLE001  # a stopped session has no JVM object; a dead JVM does not answer
        return True


def report_of(error: Exception) -> str:
    """Return the text of an error, or `GONE` if the JVM has ended."""
    try:
        return GONE if isinstance(error, Py4JNetworkError | ConnectionError) else str(error)
    except Exception:  # noqa: BLE001  # an error of the JVM reads its text from the JVM
        return GONE


@final
class _WithoutPy4j(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno < logging.ERROR or record.module != "java_gateway"


_without_py4j: Final = _WithoutPy4j()


def quieten_py4j() -> None:
    """Keep py4j's stack traces of failed calls out of the log: py4j also raises them as errors."""
    for name in (None, "py4j.java_gateway"):  # a filter does not see records of child loggers
        logging.getLogger(name).addFilter(_without_py4j)


def quieten_accumulators(spark: SparkSession) -> None:
    """Keep a stack trace off stderr: pyspark's accumulator server prints it when the JVM closes its connection."""
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is None or "handle_error" in vars(server):
        return
    report = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            report(request, client_address)

    server.handle_error = handle_error
