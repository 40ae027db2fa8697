"""A JVM that is gone, as Python sees it: how to tell, and which reports of py4j and pyspark about it are of no use."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final, final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

GONE: Final = "Spark is gone: the session was stopped, or its JVM has died"
JVM_ERRORS: Final = (Py4JError, PySparkException, OSError)
"""What a call of a JVM raises that is gone."""


def is_gone(spark: SparkSession) -> bool:
    """Return whether the session has been stopped, or its JVM has died."""
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except Exception:  # noqa: BLE001  # of a stopped session there is nothing to ask; a dead JVM does not answer
        return True


def report_of(error: Exception) -> str:
    """Return the text of an error, which may be one of a JVM that is gone."""
    try:
        return GONE if isinstance(error, Py4JNetworkError | ConnectionError) else str(error)
    except Exception:  # noqa: BLE001  # an error of the JVM asks the JVM for its text, and that may be gone
        return GONE


@final
class _WithoutPy4j(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno < logging.ERROR or record.module != "java_gateway"


_without_py4j: Final = _WithoutPy4j()


def quieten_py4j() -> None:
    """Keep the traces out of the log that py4j writes when a call fails, of either side: it raises them, too."""
    for name in (None, "py4j.java_gateway"):  # a filter of a logger sees only what is logged to that very logger
        logging.getLogger(name).addFilter(_without_py4j)


def quieten_accumulators(spark: SparkSession) -> None:
    """Keep the trace off stderr that pyspark's server of accumulators prints when the JVM closes its connection."""
    server = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is None or "handle_error" in vars(server):
        return
    report = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            report(request, client_address)

    server.handle_error = handle_error
