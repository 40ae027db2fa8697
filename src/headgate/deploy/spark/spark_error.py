"""Explains errors of Spark in a sentence or two: Spark's own report is a hundred lines of stack."""

from __future__ import annotations

import re
import signal
from typing import Final

from headgate.deploy.spark.jvm_loss import report_of
from headgate.state.formats.missing_module import how_to_ship

_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_VERSION: Final = re.compile(r"\[PYTHON_VERSION_MISMATCH\]([^\n]*)")
_NO_PYTHON: Final = re.compile(r'Cannot run program "([^"]+)".*?: error=\d+, ([^\n]*)')
_NOT_STARTED: Final = re.compile(
    r"Error from python worker:\s*\n(.*?)\nPYTHONPATH was:|EOFException occurred while reading the port number",
    re.DOTALL,
)
_CODE: Final = re.compile(r"stdout and terminated with code: (\d+)")
_BAD_DATA: Final = re.compile(r"Bad data in \S+ standard output\. Invalid port number")
_IDLE: Final = re.compile(r"terminated due to idle timeout \(timeout: [^)]*\)")
_CANCELLED: Final = re.compile(r"Job \d+ cancelled[^\n]*")
_TASK_FAILED: Final = "finished unsuccessfully."
"""Spark's report contains this text if a barrier stage ran and a task of it failed."""
_JAVA_ERROR: Final = re.compile(r"^: (?:[\w$]+\.)*(\w+): (.+)$", re.MULTILINE)
_TASK_ERROR: Final = re.compile(r"^(?:[\w$]+\.)+(\w+)(?:: (.+))?$", re.MULTILINE)
_TRACEBACK: Final = "Traceback (most recent call last):"
_PYTHON_ERROR: Final = re.compile(r"(?:\w+\.)*(\w+)(?:: (.*))?", re.DOTALL)
_OF_A_GROUP: Final = re.compile(r"^ +[|+] ?", re.MULTILINE)
_WORKER_DIED: Final = "a Python worker died (it was killed, or ran out of memory)"
_HOPELESS: Final = frozenset({"ConfigError", "EnvironmentFault", "ImportError", "ProgramError", "SyntaxError"})
"""Errors of a Python worker that a restart of the worker cannot fix."""
_OWN_NEEDS: Final = frozenset({"headgate", "pyarrow", "pandas", "cloudpickle"})
_BY_NAME: Final = "PYSPARK_PYTHON, spark.pyspark.python or env.set_python_executable"
_SIGNALLED: Final = 128
"""An exit code above this number is this number plus the signal that ended the process."""
_CHARACTERS_MAX: Final = 2000
_CONTEXT: Final = "=== Streaming Query ==="
"""Spark's report continues with plan and offsets of the streaming query after this text."""
_CAUSE: Final = re.compile(r"^Caused by: (?:[\w$]+\.)*[\w$]+: (.+)$", re.MULTILINE)


def is_refusal(report: str) -> bool:
    """Return whether another launch would fail in the same way: Spark refuses the stage, or Python cannot start.

    If not, a worker or an executor was lost, or the stage was cancelled.
    """
    if any(pattern.search(report) for pattern in (_MODULE, _VERSION, _NO_PYTHON, _BAD_DATA)):
        return True
    if _NOT_STARTED.search(report) is not None:
        output, code = _end_of_python(report)
        return code <= _SIGNALLED and (output != "" or code > 0)
    kind, _ = _python_error(report) or ("", "")
    return kind in _HOPELESS or (_TASK_FAILED not in report and _CANCELLED.search(report) is None)


def explain(report: str) -> str:
    """Return the reason in Spark's report and, if known, the next step, in a sentence or two."""
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
    if _NOT_STARTED.search(report) is not None:
        return _not_started(*_end_of_python(report))
    if _BAD_DATA.search(report) is not None:
        return (
            "the Python of a worker prints something as it starts: look for what prints in its sitecustomize.py, or "
            f"name another one: {_BY_NAME}"
        )
    idle = _IDLE.search(report)
    if idle is not None:
        return f"a Python worker was {idle[0]}: set spark.python.worker.killOnIdleTimeout=false"
    cancelled = _CANCELLED.search(report)
    if cancelled is not None:
        return f"Spark was told to cancel it: {cancelled[0]}"
    if "Python worker exited unexpectedly" in report:
        return _WORKER_DIED
    if "ExecutorLostFailure" in report or "Executor heartbeat timed out" in report:
        return "an executor was lost: " + _first(report, "ExecutorLostFailure")
    python_error = _python_error(report)
    if python_error is not None:
        kind, text = python_error
        return _cut(f"{kind}: {text}" if text else kind)
    _, _, of_task = report.partition(_TASK_FAILED)
    task_error = _TASK_ERROR.search(of_task)
    if task_error is not None:
        kind, text = task_error.groups("")
        return _WORKER_DIED if kind == "EOFException" else _cut(f"{kind}: {text}" if text else kind)
    java_error = _JAVA_ERROR.search(report)
    return _cut(java_error[2] if java_error is not None else report.strip().partition("\n")[0])


def _end_of_python(report: str) -> tuple[str, int]:
    """Return the last line and the exit code of a Python that did not start; code 0 if it is unknown."""
    not_started, code = _NOT_STARTED.search(report), _CODE.search(report)
    output = "" if not_started is None else (not_started[1] or "").strip()
    return output.rpartition("\n")[2].strip(), 0 if code is None else int(code[1])


def _not_started(output: str, code: int) -> str:
    if code > _SIGNALLED:
        return (
            f"the daemon that starts the Python workers was ended by {_name_of(code - _SIGNALLED)}: the machine, or "
            "its container, may be out of memory"
        )
    if not output and not code:
        return "the daemon that starts the Python workers died as it started (it was killed, or ran out of memory)"
    told = _cut(output) or f"it printed nothing (exit code {code})"
    return f"the Python of a worker ends as soon as it is started: {told}. Name another one: {_BY_NAME}"


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _python_error(report: str) -> tuple[str, str] | None:
    """Return the class name and the text of the Python error in the report, None without a Python error."""
    _, mark, told = report.rpartition(_TRACEBACK)
    if not mark:
        return None
    lines = _OF_A_GROUP.sub("", told.partition("\n\tat ")[0]).splitlines()
    frames = next((index for index, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    error = " ".join(line.strip() for line in lines[frames:] if not line.startswith((" SQLSTATE", "-", "+-")))
    found = _PYTHON_ERROR.fullmatch(error.strip())
    return None if found is None else (found[1], (found[2] or "").strip())


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
    return text if len(text) <= _CHARACTERS_MAX else f"{text[:_CHARACTERS_MAX]}..."


def reason_of(error: Exception) -> str:
    """Return the explanation of an error, with its root cause if the cause adds to it, such as an unreadable file."""
    report = report_of(error).partition(_CONTEXT)[0]
    told = explain(report).strip()
    causes = [] if "Traceback" in report else _CAUSE.findall(report)
    return told if not causes or causes[-1] in told else f"{told} (caused by: {explain(causes[-1])})"
