"""How the functions that Spark calls in a batch job find headgate and the user's modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from headgate.deploy.spark.shipping import ShippedCode
from headgate.deploy.spark.slot_task import code_entry

TaskEntry = Callable[[], AbstractContextManager[None]]
"""Pickled by value: a context in which everything can be imported."""


def task_entry(code: ShippedCode, *, local: bool) -> TaskEntry:
    """Return the context of a job's tasks. `local`: workers are of this machine, and look where the driver looks."""
    within = code_entry(code)
    paths = [os.path.abspath(path) for path in sys.path] if local else []

    def entry() -> AbstractContextManager[None]:
        import sys  # noqa: PLC0415  # this function travels by value

        there: AbstractContextManager[None] = within()
        sys.path.extend(path for path in paths if path not in sys.path)
        return there

    return entry
