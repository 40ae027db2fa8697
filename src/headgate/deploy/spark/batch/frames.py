"""DataFrames as inputs of a batch job: Spark reads and sorts them directly, without a copy before the job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from headgate.batch.column_of import column_of
from headgate.batch.inputs import FrameHeadFactory, SortedBy
from headgate.batch.rows import KEY, ORDER, TASK
from headgate.batch.stages import ShuffleKind, Stage
from headgate.deploy.spark.batch.partitions import sorted_by_key
from headgate.deploy.spark.dataframes.frames import DataFrameSource
from headgate.elements import MIN_TIMESTAMP
from headgate.functions.api import KeySelector
from headgate.graph.job_graph import JobGraph, VertexPlan
from headgate.operators.base import method_of
from headgate.operators.source import SourceFactory
from headgate.operators.watermarks import AssignFactory
from headgate.types.arrow_types import schema_in_micros

_SORTABLE: Final = (spark.StringType, spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType)
"""Types of columns for which Spark and Python agree on which values are equal."""


@final
@dataclass(frozen=True, slots=True)
class FrameInput:
    """One DataFrame. Columns are addressed by number, because only Spark can distinguish some names of columns."""

    frame: DataFrame
    schema: pa.Schema
    """The columns of records."""

    @property
    def rows(self) -> DataFrame:
        """All rows."""
        return self.frame.toDF(*(f"c{place}" for place in range(len(self.frame.columns))))

    @property
    def in_tasks(self) -> DataFrame:
        """All rows, each with its task: the partition of this DataFrame, not of a union."""
        return self.rows.withColumn(TASK, f.spark_partition_id())

    def has_keys(self, column: str) -> bool:
        """Return whether Spark and Python agree on which values of the column are equal keys."""
        kind = self._type_of(column)
        collation = getattr(kind, "collationId", 0)  # for text that is not compared byte by byte
        return type(kind) in _SORTABLE and not collation

    def has_times(self, column: str) -> bool:
        """Return whether the values of the column can be timestamps."""
        return isinstance(self._type_of(column), spark.IntegralType)

    def _type_of(self, column: str) -> spark.DataType:
        kind: spark.DataType = self.frame.schema.fields[self.schema.names.index(column)].dataType
        return kind

    def _column(self, column: str) -> Column:
        return f.col(f"c{self.schema.names.index(column)}")

    def sorted_by(self, order: SortedBy, tasks: int) -> DataFrame:
        """Return all rows in `tasks` partitions. All rows of a key are in one partition, sorted by key and time.

        Rows of a key with equal times, or without times, keep the order of the DataFrame. Spark decides which task gets
        which key: computing key groups in Python would cost more than all other work.
        """
        rows, key = self.rows, self._column(order.key)
        time = None if order.time is None else self._column(order.time).cast("long")
        shuffled = rows.withColumn(ORDER, f.monotonically_increasing_id()).repartition(tasks, key)
        in_order = sorted_by_key(shuffled, f.xxhash64(key), time, ORDER)
        return in_order.select(*rows.columns, KEY, f.spark_partition_id().alias(TASK))


def frames_of(plan: JobGraph) -> dict[int, FrameInput]:
    """Return the DataFrames that a job reads, by vertex."""
    found = {vertex.id: _source_of(vertex) for vertex in plan.vertices}
    return {
        vertex: FrameInput(source.frame, schema_in_micros(source.row_type))
        for vertex, source in found.items()
        if source is not None
    }


def _source_of(vertex: VertexPlan) -> DataFrameSource | None:
    factory = vertex.operators[0].factory
    source = factory.source if isinstance(factory, SourceFactory) else None
    return source if isinstance(source, DataFrameSource) else None


def without_sources(plan: JobGraph, frames: dict[int, FrameInput]) -> JobGraph:
    """Return the plan without the sources of the DataFrames."""

    def changed(vertex: VertexPlan) -> VertexPlan:
        if vertex.id not in frames:
            return vertex
        head, *rest = vertex.operators
        strategy = head.factory.strategy if isinstance(head.factory, SourceFactory) else None
        factory = FrameHeadFactory() if strategy is None else AssignFactory(strategy)
        return replace(vertex, operators=(replace(head, factory=factory), *rest))

    return replace(plan, vertices=tuple(map(changed, plan.vertices)))


def sorted_by_spark(stages: Sequence[Stage], frames: dict[int, FrameInput]) -> dict[int, SortedBy]:
    """Return the stages whose DataFrame Spark can sort, each with the order.

    Such a stage is the only reader of the DataFrame and is keyed by a column. Its timestamps, if any, are a column.
    """
    found = {stage.vertex.id: _order(stage, stages, frames) for stage in stages}
    return {stage: order for stage, order in found.items() if order is not None}


def _order(stage: Stage, stages: Sequence[Stage], frames: dict[int, FrameInput]) -> SortedBy | None:
    if len(stage.inputs) != 1 or stage.inputs[0].shuffle is not ShuffleKind.BY_KEY:
        return None
    reads = stages[stage.inputs[0].stage]
    before, selector = reads.vertex, stage.inputs[0].key_selector
    frame = frames.get(before.id)
    if frame is None or len(reads.targets) > 1:
        return None  # several stages must see the same rows, and a second computation may differ
    if isinstance(selector, KeySelector) and type(selector).open is not KeySelector.open:
        return None  # only tasks open a key selector
    key = column_of(method_of(selector, "get_key"), frame.schema.names)
    if key is None or not frame.has_keys(key):
        return None
    match [operator.factory for operator in before.operators]:
        case [FrameHeadFactory()]:
            return SortedBy(key)
        case [AssignFactory(strategy)] | [FrameHeadFactory(), AssignFactory(strategy)]:
            return _with_time(key, strategy.extract_timestamp, frame)
    return None


def _with_time(key: str, extract: Callable[[Any, int], int] | None, frame: FrameInput) -> SortedBy | None:
    if extract is None:
        return SortedBy(key)

    def assign(record: Any) -> Any:
        return extract(record, MIN_TIMESTAMP)

    time = column_of(assign, frame.schema.names)
    return SortedBy(key, time, assign) if time is not None and frame.has_times(time) else None
