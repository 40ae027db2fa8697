"""The function that Spark runs as a task and that hosts a slot.

It is pickled by value and refers to nothing of headgate, so a worker without headgate can still say what it lacks.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headgate.deploy.spark.slot_spec import SlotSpec
from headgate.deploy.spark.task_entry import TaskEntry

SlotTask = Callable[[Iterable[Any]], Iterator[Any]]
"""What one task of the stage does; Spark gives it rows, of which there are none, and takes rows, of which neither."""


def slot_task(spec: SlotSpec, package: Any, entry: TaskEntry) -> SlotTask:
    """Return the function of the Spark task that hosts a slot.

    `package` is the packed job, as bytes or as a broadcast of them.
    """
    data = pickle.dumps(spec, 5)

    def headgate_slot(rows: Iterable[Any]) -> Iterator[Any]:
        with entry():
            from headgate.deploy.spark.slot_process import run_slot  # noqa: PLC0415  # found by now

            for _ in rows:
                pass
            run_slot(data, package if isinstance(package, bytes) else package.value)
        return iter(())

    return headgate_slot
