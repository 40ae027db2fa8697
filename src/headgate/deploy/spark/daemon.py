"""The Python daemon of an embedded session: Spark's daemon, with the modules of slots loaded before it forks workers.

Otherwise each worker would spend half a second of a core on imports, at the start of a job and after each lost worker.
A process with threads is not safe to fork, so no module loaded here may start a thread. Arrow starts threads: each
worker loads it.
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
    "headgate.deploy.spark.terminal",
    "headgate.runtime.control.client",
    "headgate.runtime.exchange.network",
    "headgate.runtime.slot.slot",
)


def preload() -> None:
    """Import the modules of slots. Ignores import errors: a slot reports a missing module with the next step."""
    for module in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


if __name__ == "__main__":
    preload()
    daemon.manager()
