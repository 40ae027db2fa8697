"""The Python daemon of an embedded session: Spark's own, with what slots need loaded before it forks its first worker.

A worker that had to load it for itself would take half a second of a core for it, at the start of a job and again when
a lost one is replaced. Nothing loaded here starts a thread: a process with threads is not safe to fork. So Arrow, which
does, is left to the workers.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Final

from pyspark import daemon

MODULE: Final = "headgate.deploy.spark.daemon"
"""Name of this module, for `spark.python.daemon.module`."""

PRELOADED: Final = (
    "pyspark.worker",
    "headgate.deploy.code.package",
    "headgate.deploy.spark.logs",
    "headgate.deploy.spark.network",
    "headgate.deploy.spark.slot_task",
    "headgate.deploy.spark.terminal",
    "headgate.runtime.control.client",
    "headgate.runtime.control.heartbeat",
    "headgate.runtime.exchange.network",
    "headgate.runtime.slot.slot",
)


def preload() -> None:
    """Load what slots need. Where headgate cannot be loaded a slot says so itself, in clear words."""
    for module in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


if __name__ == "__main__":
    preload()
    daemon.manager()
