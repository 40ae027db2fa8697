"""Batch jobs on Spark: each stage is a `mapInArrow`, with a shuffle of Spark SQL between stages.

    rows ──> mapInArrow ──> repartition by task, sort within partitions ──> mapInArrow ──> ... ──> results

The output of a stage that several stages read is persisted, so that the stage runs once. Spark does all recovery: it
runs a failed task again, on the same rows in the same order.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, final

import cloudpickle
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import Broadcast, StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from headgate import options
from headgate.batch.inputs import TaskInput
from headgate.batch.rows import EDGE, INPUT, KEY, ORDER, ORDER_BITS, READ, ROWS, SORTED_BY, TASK, TIME
from headgate.batch.stages import Input, ShuffleKind, Stage, batch_plan, stages
from headgate.batch.task import RESULTS
from headgate.deploy.code.package import pack
from headgate.deploy.handles.batch_job import StageResult
from headgate.deploy.spark.batch.frames import frames_of, sorted_by_spark, without_sources
from headgate.deploy.spark.batch.partitions import sorted_by_key, to_partition
from headgate.deploy.spark.batch.task import StageSpec, failure_in
from headgate.deploy.spark.preflight import is_local
from headgate.deploy.spark.releases import arrow_table
from headgate.deploy.spark.shipping import JobContext, ShippedCode, TaskEntry, task_entry
from headgate.deploy.spark.spark_error import explain
from headgate.errors import EnvironmentFault, JobCancelledError
from headgate.graph.job_graph import JobGraph
from headgate.runtime.job_storage.source_inputs import SourceInputs

_CANCEL_S: Final = 0.2
"""Seconds between cancellations of a job that still runs."""
_PIECE_ROWS: Final = 10_000
"""Broadcast rows per Arrow batch; the same number as in Spark's own batches."""
_POOL: Final = "spark.scheduler.pool"
_building: Final = threading.Lock()


@final
class SparkBatch:
    """A `BatchEngine` on a Spark session."""

    def __init__(self, plan: JobGraph, spark: SparkSession, code: ShippedCode) -> None:
        self._spark = spark
        self._context = spark.sparkContext
        self._code = code
        self._entry = task_entry(code, local=is_local(self._context.master or ""))
        self._frames = frames_of(plan)
        self._plan = batch_plan(without_sources(plan, self._frames))
        self._stages = stages(self._plan)
        self._sorted = sorted_by_spark(self._stages, self._frames)
        self._read_by_spark = {self._stages[reader].inputs[0].stage for reader in self._sorted}
        """Stages that are skipped: the only stage that reads their output reads their DataFrame, sorted by Spark."""
        self._sources = SourceInputs(self._plan)
        self._group = f"headgate-{plan.job_id}"
        self._broadcasts: list[Broadcast[bytes]] = []
        self._persisted: list[DataFrame] = []
        self._emitted: dict[int, DataFrame] = {}
        self._cancelled = False
        self._over = threading.Event()

    def run(self) -> Iterator[StageResult]:
        self._context.setJobGroup(self._group, f"headgate: {self._plan.job_name}", interruptOnCancel=True)
        pool: Any = self._plan.settings.get(options.SCHEDULER_POOL)  # None: the default pool
        self._context.setLocalProperty(_POOL, pool)
        try:
            with self._sources.listed() as splits:
                package = self._broadcast(pack(self._plan))
                for stage in self._stages:
                    if self._cancelled:
                        raise JobCancelledError(f"job {self._plan.job_id} was cancelled")
                    if stage.vertex.id not in self._read_by_spark:
                        yield from self._run_stage(stage, package, splits.get(stage.vertex.id, []))
        except (PySparkException, Py4JError) as error:
            report = str(error)
            raise failure_in(report) or EnvironmentFault(explain(report)) from None

    def cancel(self) -> None:
        self._cancelled = True
        self._sources.interrupt()
        threading.Thread(target=self._cancel, name="headgate-cancel", daemon=True).start()

    def _cancel(self) -> None:
        with contextlib.suppress(PySparkException, Py4JError, AttributeError, OSError):  # the session is gone
            while not self._over.is_set():
                self._context.cancelJobGroup(self._group)
                self._over.wait(_CANCEL_S)  # repeated: a cancellation misses a job that is just starting

    def close(self) -> None:
        self._over.set()
        for frame in self._persisted:
            frame.unpersist()
        for broadcast in self._broadcasts:
            broadcast.destroy()

    # --- one stage

    def _run_stage(self, stage: Stage, package: Broadcast[bytes], splits: list[Any]) -> Iterator[StageResult]:
        """Plan the stage. Run it now if no stage reads its output."""
        rows, reading = self._rows(stage)
        spec = StageSpec(
            stage=stage.vertex.id,
            tasks=stage.vertex.parallelism,
            reads=stage.vertex.id in self._frames
            or any(each.shuffle is not ShuffleKind.TO_ALL for each in stage.inputs),
            reading=reading,
            splits=tuple(splits),
        )
        task = _task(spec, package, self._for_all(stage), self._entry)
        with self._as_job():
            made = rows.mapInArrow(task, from_arrow_schema(ROWS if stage.targets else RESULTS))
        if not stage.targets:
            yield from ((stage.vertex.id, row[0], bytes(row[1])) for row in made.collect())
            return
        if len(stage.targets) > 1:
            made = made.persist(StorageLevel.MEMORY_AND_DISK)
            self._persisted.append(made)
        self._emitted[stage.vertex.id] = made

    @contextlib.contextmanager
    def _as_job(self) -> Iterator[None]:
        """Use the job's Python and the job's environment of workers for plans made inside the block."""
        own = JobContext(self._context, self._code)
        context: Any = self._context
        with _building:
            before = context.pythonExec, context.environment
            context.pythonExec, context.environment = own.pythonExec, own.environment
            try:
                yield
            finally:
                context.pythonExec, context.environment = before

    # --- input of a stage

    def _rows(self, stage: Stage) -> tuple[DataFrame, TaskInput]:
        """Return the rows that the stage reads, and the form of this input."""
        tasks = stage.vertex.parallelism
        frame = self._frames.get(stage.vertex.id)
        if frame is not None:
            return frame.in_tasks, TaskInput(frame.schema)
        order = self._sorted.get(stage.vertex.id)
        if order is not None:
            frame = self._frames[stage.inputs[0].stage]
            return frame.sorted_by(order, tasks), TaskInput(frame.schema, order)
        own = [each for each in stage.inputs if each.shuffle is not ShuffleKind.TO_ALL]
        if not own:
            return self._spark.range(0, tasks, 1, tasks).select(f.col("id").cast("int").alias(TASK)), TaskInput()
        rows = functools.reduce(DataFrame.unionAll, map(self._of_edge, own))
        if len(own) < len(stage.inputs):
            rows = rows.unionAll(self._one_for_each(tasks))
        if own[0].shuffle is ShuffleKind.NONE:
            rows = rows.withColumn(TASK, f.shiftright(ORDER, ORDER_BITS).cast("int"))
        else:
            shuffled = rows.repartition(tasks, to_partition(f.col(TASK), tasks))
            if stage.is_keyed:
                rows = sorted_by_key(shuffled, f.col(KEY), f.col(TIME), *SORTED_BY[True][2:])
            else:
                rows = shuffled.sortWithinPartitions(*SORTED_BY[False])
        return rows.select(*READ), TaskInput()

    def _one_for_each(self, tasks: int) -> DataFrame:
        """Return a row without a record for each task: Spark does not run tasks without rows."""
        given = {EDGE: f.lit(0), INPUT: f.lit(0), TASK: f.col("id"), ORDER: f.lit(0)}
        fields = from_arrow_schema(ROWS).fields
        columns = [given.get(field.name, f.lit(None)).cast(field.dataType).alias(field.name) for field in fields]
        return self._spark.range(0, tasks, 1, tasks).select(*columns)

    def _of_edge(self, each: Input) -> DataFrame:
        return self._emitted[each.stage].where(f.col(EDGE) == each.edge)

    def _for_all(self, stage: Stage) -> Broadcast[bytes] | None:
        """Compute and return the rows that every task of the stage reads, None without such input.

        The driver sorts them: for `orderBy`, Spark would run the tasks twice, first to find the ranges.
        """
        edges = [each for each in stage.inputs if each.shuffle is ShuffleKind.TO_ALL]
        if not edges:
            return None
        tables = [arrow_table(self._of_edge(each)).sort_by(ORDER).select(READ) for each in edges]
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, tables[0].schema) as writer:
            for table in tables:
                writer.write_table(table, _PIECE_ROWS)
        return self._broadcast(stream.getvalue().to_pybytes())

    def _broadcast(self, data: bytes) -> Broadcast[bytes]:
        broadcast = self._context.broadcast(data)
        self._broadcasts.append(broadcast)
        return broadcast


def _task(
    spec: StageSpec, package: Broadcast[bytes], for_all: Broadcast[bytes] | None, entry: TaskEntry
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function of the tasks. It is pickled by value and imports headgate only inside `entry`."""
    pickled = cloudpickle.dumps(spec)  # classes of splits may be in the main script

    def headgate_task(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with entry():
            from headgate.deploy.spark.batch.task import run_stage  # noqa: PLC0415  # `entry` makes it importable

            yield from run_stage(pickled, package.value, None if for_all is None else for_all.value, rows)

    return headgate_task
