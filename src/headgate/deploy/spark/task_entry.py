"""How the functions that Spark calls as tasks, of slots and of batch jobs, find headgate and the user's modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from headgate.deploy.spark.shipping import ShippedCode

TaskEntry = Callable[[], AbstractContextManager[None]]
"""Pickled by value: a context in which everything can be imported."""


def task_entry(code: ShippedCode, *, local: bool) -> TaskEntry:
    """Return the context of a job's tasks: what was shipped is there.

    Modules can be imported, before others of their names, and the working folder has the archives. `local`: workers are
    of this machine, and look where the driver looks, last.
    """
    imports, folders, name = code.imports, code.folders, code.name
    of_driver = [os.path.abspath(path) for path in sys.path] if local else []

    def entry() -> Any:
        import contextlib  # noqa: PLC0415  # this function travels by value
        import os  # noqa: PLC0415
        import sys  # noqa: PLC0415

        from pyspark import SparkFiles  # noqa: PLC0415

        root = os.path.abspath(SparkFiles.getRootDirectory())
        shipped = [os.path.join(root, path) for path in imports]
        # Executors have relative folders of Spark's on the path, which would not hold in another working folder.
        own = [os.path.abspath(path) for path in sys.path]
        sys.path[:] = dict.fromkeys([*shipped, *own, *of_driver])
        if not folders:
            return contextlib.nullcontext()
        working = os.path.join(root, f"headgate-work-{name}")
        os.makedirs(working, exist_ok=True)
        for folder, unpacked in folders:
            with contextlib.suppress(FileExistsError):  # made by another slot
                os.symlink(os.path.join(root, unpacked), os.path.join(working, folder))
        return contextlib.chdir(working)

    return entry
