"""What a failed stage says, in words of headgate: Spark's own report is a hundred lines of foreign stack."""

from __future__ import annotations

import re
from typing import Final

from headgate.state.formats.missing_module import how_to_ship

_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_VERSION: Final = re.compile(r"\[PYTHON_VERSION_MISMATCH\]([^\n]*)")
_NO_PYTHON: Final = re.compile(r'Cannot run program "([^"]+)".*?: error=\d+, ([^\n]*)')
_NOT_STARTED: Final = re.compile(
    r"Error from python worker:\s*\n(.*?)\nPYTHONPATH was:|EOFException occurred while reading the port number",
    re.DOTALL,
)
_CANCELLED: Final = re.compile(r"Job \d+ cancelled[^\n]*")
_JAVA_ERROR: Final = re.compile(r"^: (?:\w+\.)*(\w+): (.+)$", re.MULTILINE)
_PYTHON_ERROR: Final = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Fault|Lost|Exit)): (.+)$", re.MULTILINE)
_OWN_NEEDS: Final = frozenset({"headgate", "pyarrow", "pandas", "cloudpickle"})
_BY_NAME: Final = "PYSPARK_PYTHON, spark.pyspark.python or env.set_python_executable"
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
            "spark.pyspark.python, or env.set_python_executable) to the same minor version of Python as the driver's, "
            "on every worker"
        )
    python = _NO_PYTHON.search(report)
    if python is not None:
        return (
            f"a worker cannot start the Python {python[1]}: {python[2]}. Name one that is there: {_BY_NAME}; the "
            "Python of an environment from headgate pack starts only where the Python that made it is installed"
        )
    not_started = _NOT_STARTED.search(report)
    if not_started is not None:
        told = (not_started[1] or "it printed nothing").splitlines()[-1].strip()
        return f"the Python of a worker ends as soon as it is started: {_cut(told)}. Name another one: {_BY_NAME}"
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
            f"the Python of a worker has no module {module!r}, which slots need: ship an environment that has it "
            "(headgate pack shows how), or pip install 'headgate[spark]' on every worker, for the Python that "
            "PYSPARK_PYTHON (or spark.pyspark.python) names"
        )
    return f"the job needs module {module!r}, which a worker does not have: {how_to_ship(module)}"


def _first(report: str, mark: str) -> str:
    found = next((line for line in report.splitlines() if mark in line), report)
    return _cut(found[found.find(mark) :])


def _cut(text: str) -> str:
    return text if len(text) <= _LINE_CHARACTERS_MAX else f"{text[:_LINE_CHARACTERS_MAX]}..."
