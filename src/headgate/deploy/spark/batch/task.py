"""A task of a batch job in a Python worker of Spark."""

from __future__ import annotations

import base64
import itertools
import pickle
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from headgate.batch.inputs import TaskInput
from headgate.batch.rows import RECORD, TASK
from headgate.batch.task import StageTask, TaskFailedError, TaskPlace
from headgate.deploy.code.package import unpack
from headgate.deploy.spark.terminal import output_of_driver
from headgate.ids import Attempt
from headgate.runtime.slot.garbage import survivors_set_aside

_REPORT: Final = re.compile(r"headgate-task-failed:([A-Za-z0-9+/=]+)")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpec:
    """The stage of a task, and its input. `tasks` is the number of tasks; `splits` are the splits of all tasks.

    With `reads`, Spark's rows are the input of the stage. Without, they exist only to make tasks.
    """

    stage: int
    tasks: int
    reads: bool
    reading: TaskInput = field(default_factory=TaskInput)
    splits: tuple[Any, ...] = ()


def run_stage(
    pickled: bytes, package: bytes, for_all: bytes | None, rows: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run one task.

    `pickled` is a `StageSpec`, `package` the packed job, `for_all` an Arrow stream of rows that every task reads. Each
    run of a task has an attempt number of its own, so that no two runs write files of the same name.
    """
    context = TaskContext.get()
    assert context is not None
    spec: StageSpec = pickle.loads(pickled)  # noqa: S301  # from the closure of the job's own driver
    task, rows = _numbered(rows, context.partitionId())
    place = TaskPlace(
        task=task,
        tasks=max(spec.tasks, task + 1),
        attempt=Attempt(context.taskAttemptId() + 1),
        splits=spec.splits,
    )
    own = rows if spec.reads else _read_out(rows)
    if for_all is not None:
        own = (each.filter(pc.field(RECORD).is_valid()) for each in own)  # without the row that exists to make the task
    with survivors_set_aside(), output_of_driver():
        try:
            run = StageTask(unpack(package), spec.stage, place, spec.reading)
            yield from run.run(own, () if for_all is None else pa.ipc.open_stream(for_all))
        except TaskFailedError as error:
            report = base64.b64encode(str(error).encode()).decode()
            raise RuntimeError(f"{error}\nheadgate-task-failed:{report}") from None


def _numbered(rows: Iterator[pa.RecordBatch], partition: int) -> tuple[int, Iterator[pa.RecordBatch]]:
    """Return the number of the task, and its rows without the column of the number.

    The rows contain the number, because Spark numbers the partitions of a union, not of its parts. A task without rows
    gets the number of Spark's partition; nothing depends on it.
    """
    first = next(rows, None)
    if first is None:
        return partition, iter(())
    rows = itertools.chain([first], rows)
    return first.column(TASK)[0].as_py(), (each.drop_columns([TASK]) for each in rows)


def _read_out(rows: Iterator[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    for _ in rows:
        pass
    return ()


def failure_in(report: str) -> TaskFailedError | None:
    """Return the error of a task from Spark's report, None if the report has none."""
    found = _REPORT.search(report)
    return None if found is None else TaskFailedError(base64.b64decode(found[1]).decode())
