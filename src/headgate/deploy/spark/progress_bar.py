"""Hides Spark's progress bar while a job runs: the job's stage does not end, so the bar would cover printed lines.

PySpark shows the bar in shells, notebooks and scripts, unless `spark.ui.showConsoleProgress` is false.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Final, final

from pyspark import SparkContext

from headgate.deploy.spark.jvm_loss import JVM_ERRORS

_lock: Final = threading.Lock()


@final
class _Bar:
    """The progress bar of one session, and the number of jobs that hide it."""

    def __init__(self, bar: Any) -> None:
        self.bar = bar
        self.jobs = 0


_bars: Final[weakref.WeakKeyDictionary[SparkContext, _Bar]] = weakref.WeakKeyDictionary()


def hide(context: SparkContext) -> Callable[[], None]:
    """Hide the progress bar of a session, if it has one. Return a function that shows it after the last job."""
    with _lock:
        own = _bars.get(context)
        if own is None:
            found = context._jsc.sc().progressBar()
            if found.isEmpty():
                return lambda: None
            own = _bars[context] = _Bar(found.get())
        own.jobs += 1
        if own.jobs == 1:
            own.bar.stop()
    return partial(_show, context, own)


def _show(context: SparkContext, own: _Bar) -> None:
    with _lock:
        own.jobs -= 1
        if own.jobs:
            return
        try:
            scala = context._jsc and context._jsc.sc()
            if scala is not None and not scala.isStopped():
                own.bar = context._jvm.org.apache.spark.ui.ConsoleProgressBar(scala)  # type: ignore[union-attr]
        except JVM_ERRORS:  # without Spark there is no bar
            return
