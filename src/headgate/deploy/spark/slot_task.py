"""The function that Spark runs as a task and that hosts a slot.

It is pickled by value and refers to nothing of headgate, so a worker without headgate can still say what it lacks.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headgate.deploy.spark.shipping import ShippedCode
from headgate.deploy.spark.slot_spec import SlotSpec

SlotTask = Callable[[Iterable[Any]], Iterator[Any]]
"""What one task of the stage does; Spark gives it rows, of which there are none, and takes rows, of which neither."""


def slot_task(spec: SlotSpec, package: Any, paths: list[str], code: ShippedCode) -> SlotTask:
    """Return the function of the Spark task that hosts a slot.

    `package` is the packed job, as bytes or as a broadcast of them; `paths` are folders that Python looks for modules
    in besides its own.
    """
    data = pickle.dumps(spec, 5)
    within = code_entry(code)

    def headgate_slot(rows: Iterable[Any]) -> Iterator[Any]:
        import sys  # noqa: PLC0415  # this function travels by value

        with within():
            sys.path.extend(path for path in paths if path not in sys.path)
            from headgate.deploy.spark.slot_process import run_slot  # noqa: PLC0415  # found by now

            for _ in rows:
                pass
            run_slot(data, package if isinstance(package, bytes) else package.value)
        return iter(())

    return headgate_slot


def code_entry(code: ShippedCode) -> Callable[[], Any]:
    """Return a function for tasks, pickled by value: a context in which the shipped code is there.

    Modules can be imported, before others of their names, and the working folder has the archives.
    """
    imports, folders, name = code.imports, code.folders, code.name

    def within() -> Any:
        import contextlib  # noqa: PLC0415  # this function travels by value
        import os  # noqa: PLC0415
        import sys  # noqa: PLC0415

        from pyspark import SparkFiles  # noqa: PLC0415

        root = os.path.abspath(SparkFiles.getRootDirectory())
        # Executors have relative folders of Spark's on the path, which would not hold in another working folder.
        sys.path[:] = [os.path.abspath(entry) for entry in sys.path]
        found = [os.path.join(root, path) for path in imports]
        sys.path[:] = [*found, *(entry for entry in sys.path if entry not in found)]
        if not folders:
            return contextlib.nullcontext()
        working = os.path.join(root, f"headgate-work-{name}")
        os.makedirs(working, exist_ok=True)
        for folder, unpacked in folders:
            with contextlib.suppress(FileExistsError):  # made by another slot
                os.symlink(os.path.join(root, unpacked), os.path.join(working, folder))
        return contextlib.chdir(working)

    return within
