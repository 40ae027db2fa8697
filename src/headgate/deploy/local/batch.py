"""Batch jobs in this process, without Spark or a JVM: `MiniCluster` runs them in BATCH mode.

Stages and tasks run one after the other. The output of a stage is kept and sorted in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.batch.inputs import TaskInput
from headgate.batch.rows import EDGE, ROWS, SORTED_BY, TASK, TIME
from headgate.batch.stages import Input, ShuffleKind, Stage, batch_plan, stages
from headgate.batch.task import RESULTS, StageTask, TaskPlace
from headgate.deploy.code.local_code import LocalCode
from headgate.deploy.code.package import pack, unpack
from headgate.deploy.code.program_code import program_code
from headgate.deploy.handles.batch_job import StageResult
from headgate.elements import MIN_TIMESTAMP
from headgate.errors import JobCancelledError
from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt
from headgate.runtime.job_storage.source_inputs import SourceInputs

_CHUNK_ROWS: Final = 10_000
"""Rows that a task reads between two checks whether the job was cancelled."""


@final
class LocalBatch:
    """A `BatchEngine` that runs all tasks on the thread that calls `run`."""

    def __init__(self, plan: JobGraph) -> None:
        self._plan = batch_plan(plan)
        self._package = pack(self._plan)
        self._emitted: dict[int, list[pa.Table]] = {}
        self._sources = SourceInputs(self._plan)
        self._cancelled = False
        self._code = LocalCode(program_code(plan.settings))

    def run(self) -> Iterator[StageResult]:
        with self._sources.listed() as splits:
            for stage in stages(self._plan):
                own = splits.get(stage.vertex.id, [])
                left = [self._task(stage, task, rows, own) for task, rows in enumerate(self._inputs(stage))]
                if stage.targets:
                    self._emitted[stage.vertex.id] = left
                else:
                    results = (row for table in left for row in table.to_pylist())
                    yield from ((stage.vertex.id, row["task"], row["result"]) for row in results)

    def cancel(self) -> None:
        self._cancelled = True
        self._sources.interrupt()

    def close(self) -> None:
        self._emitted = {}
        self._code.close()

    def _task(self, stage: Stage, task: int, rows: pa.Table, splits: list[Any]) -> pa.Table:
        place = TaskPlace(task=task, tasks=self._tasks_of(stage), attempt=Attempt(1), splits=splits)
        run = StageTask(unpack(self._package), stage.vertex.id, place, TaskInput(check=self._check))
        for_all = self._for_all(stage).to_batches()
        return pa.Table.from_batches(run.run(rows.to_batches(max_chunksize=_CHUNK_ROWS), for_all), _schema(stage))

    def _check(self) -> None:
        if self._cancelled:
            raise JobCancelledError(f"job {self._plan.job_id} was cancelled")

    # --- input of a stage

    def _tasks_of(self, stage: Stage) -> int:
        if any(each.shuffle is ShuffleKind.NONE for each in stage.inputs):
            return len(self._emitted[stage.inputs[0].stage])
        return stage.vertex.parallelism

    def _inputs(self, stage: Stage) -> list[pa.Table]:
        """Return the rows of each task, without broadcast rows."""
        own = [each for each in stage.inputs if each.shuffle is not ShuffleKind.TO_ALL]
        if any(each.shuffle is ShuffleKind.NONE for each in own):
            return [_of_edge(table, own[0]) for table in self._emitted[own[0].stage]]
        rows = pa.concat_tables([ROWS.empty_table(), *(_of_edge(self._everything(each), each) for each in own)])
        order = SORTED_BY[stage.is_keyed]
        without_null = pc.fill_null(rows[TIME], MIN_TIMESTAMP)
        places = pc.sort_indices(
            rows.set_column(rows.schema.get_field_index(TIME), TIME, without_null),
            sort_keys=[(name, "ascending") for name in order],
        )
        by_order = rows.take(places)
        return [by_order.filter(pc.field(TASK) == task) for task in range(stage.vertex.parallelism)]

    def _for_all(self, stage: Stage) -> pa.Table:
        found = [_of_edge(self._everything(each), each) for each in stage.inputs if each.shuffle is ShuffleKind.TO_ALL]
        return pa.concat_tables([ROWS.empty_table(), *found])

    def _everything(self, each: Input) -> pa.Table:
        return pa.concat_tables(self._emitted[each.stage])


def _of_edge(table: pa.Table, each: Input) -> pa.Table:
    return table.filter(pc.field(EDGE) == each.edge)


def _schema(stage: Stage) -> pa.Schema:
    return ROWS if stage.targets else RESULTS
