"""What a failed stage says, in words of headgate: Spark's own report is a hundred lines of foreign stack. Pure."""

from __future__ import annotations

import re
from typing import Final

_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_VERSION: Final = re.compile(r"\[PYTHON_VERSION_MISMATCH\]([^\n]*)")
_CANCELLED: Final = re.compile(r"Job \d+ cancelled[^\n]*")
_JAVA_ERROR: Final = re.compile(r"^: (?:\w+\.)*(\w+): (.+)$", re.MULTILINE)
_PYTHON_ERROR: Final = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Fault|Lost|Exit)): (.+)$", re.MULTILINE)
_OWN_NEEDS: Final = frozenset({"headgate", "pyarrow", "pandas", "cloudpickle"})
_LINE_CHARACTERS_MAX: Final = 500


def explain(report: str) -> str:
    """Return why a stage ended, in a sentence or two that say what to do about it where that is known."""
    module = _MODULE.search(report)
    if module is not None:
        return _missing(module[1])
    version = _VERSION.search(report)
    if version is not None:
        return (
            f"the Python of the workers differs from the driver's:{version[1]} Set PYSPARK_PYTHON (or "
            "spark.pyspark.python) to the same minor version of Python as the driver's, on every worker"
        )
    cancelled = _CANCELLED.search(report)
    if cancelled is not None:
        return f"Spark was told to cancel it: {cancelled[0]}"
    if "Python worker exited unexpectedly" in report:
        return "a Python worker died (it was killed, or ran out of memory)"
    if "ExecutorLostFailure" in report or "Executor heartbeat timed out" in report:
        return "an executor was lost: " + _first(report, "ExecutorLostFailure")
    python_error = _PYTHON_ERROR.findall(report)
    if python_error:
        kind, text = python_error[-1]
        return _cut(f"{kind}: {text}")
    java_error = _JAVA_ERROR.search(report)
    return _cut(java_error[2] if java_error is not None else report.strip().partition("\n")[0])


def _missing(module: str) -> str:
    name = module.partition(".")[0]
    if name in _OWN_NEEDS:
        return (
            f"the Python of a worker has no module {module!r}: install headgate[spark] for the Python that "
            "PYSPARK_PYTHON (or spark.pyspark.python) names, on every worker, or ship it with spark.archives"
        )
    return (
        f"the job needs module {module!r}, which a worker does not have. Ship it with the job (spark.submit.pyFiles, "
        "or --py-files of spark-submit) or install it on the workers"
    )


def _first(report: str, mark: str) -> str:
    found = next((line for line in report.splitlines() if mark in line), report)
    return _cut(found[found.find(mark) :])


def _cut(text: str) -> str:
    return text if len(text) <= _LINE_CHARACTERS_MAX else f"{text[:_LINE_CHARACTERS_MAX]}..."
