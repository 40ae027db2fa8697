"""DataFrames as inputs of a batch job: Spark reads, plans and sorts them itself, and nothing is copied before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as spark
from pyspark.sql.pandas.functions import pandas_udf

from headgate.batch.frame_head import FrameHeadFactory
from headgate.batch.key_column import key_column
from headgate.batch.rows import ORDER, TASK
from headgate.batch.stages import Shuffle, Stage
from headgate.deploy.spark.batch_entry import TaskEntry
from headgate.deploy.spark.frames import DataFrameSource
from headgate.deploy.spark.partitions import to_partition
from headgate.functions.api import KeySelector
from headgate.graph.physical import JobPlan, VertexPlan
from headgate.operators.base import method_of
from headgate.operators.source import SourceFactory
from headgate.types.arrow_types import schema_in_micros

_SORTABLE: Final[dict[type[spark.DataType], Any]] = {
    spark.StringType: "",
    spark.ByteType: 0,
    spark.ShortType: 0,
    spark.IntegerType: 0,
    spark.LongType: 0,
}
"""Types of columns whose values Spark and Python call equal alike, each with a value that may stand for null."""


@final
@dataclass(frozen=True, slots=True)
class FrameInput:
    """One DataFrame. Its columns go by number: Spark's may have names that only Spark can tell apart."""

    frame: DataFrame
    schema: pa.Schema
    """The columns as records have them."""

    @property
    def rows(self) -> DataFrame:
        """All rows."""
        return self.frame.toDF(*(f"c{place}" for place in range(len(self.frame.columns))))

    def can_sort_by(self, column: str) -> bool:
        """Whether Spark sees the same keys in the column as Python does."""
        kind = self.frame.schema.fields[self.schema.names.index(column)].dataType
        collation = getattr(kind, "collationId", 0)  # of text that is compared in another way than byte by byte
        return type(kind) in _SORTABLE and not collation

    def sorted_by(self, column: str, tasks: int, max_parallelism: int, entry: TaskEntry) -> DataFrame:
        """Return all rows, each in the partition of the task that owns its key group, there sorted by the key.

        Rows of a key are in the order of the DataFrame. Only the keys are seen by Python.
        """
        rows = self.rows
        place = self.schema.names.index(column)
        key = f.col(f"c{place}")
        instead = f.lit(_SORTABLE[type(self.frame.schema.fields[place].dataType)])
        task_of = _task_of(tasks, max_parallelism, entry)
        routed = rows.withColumns({TASK: task_of(f.coalesce(key, instead)), ORDER: f.monotonically_increasing_id()})
        shuffled = routed.repartition(tasks, to_partition(f.col(TASK), tasks))
        return shuffled.sortWithinPartitions(key, f.col(ORDER)).select(*rows.columns)


def _task_of(tasks: int, max_parallelism: int, entry: TaskEntry) -> Any:
    """Return a function of Spark's: keys to the tasks that own them."""

    def task_of(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        with entry():
            import pandas as pd  # noqa: PLC0415  # this function travels by value

            from headgate.batch.rows import KeyRoutes  # noqa: PLC0415  # found by now

            routes = KeyRoutes(tasks, max_parallelism)
            for keys in batches:
                yield pd.Series([routes[key][0] for key in keys.tolist()], dtype="int32")

    return pandas_udf(task_of, "int")  # type: ignore[call-overload]  # what kind it is follows from its annotations


def frames_of(plan: JobPlan) -> dict[int, FrameInput]:
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


def without_sources(plan: JobPlan, frames: dict[int, FrameInput]) -> JobPlan:
    """Return the plan without the sources that the DataFrames stand for."""

    def changed(vertex: VertexPlan) -> VertexPlan:
        if vertex.id not in frames:
            return vertex
        head, *rest = vertex.operators
        return replace(vertex, operators=(replace(head, factory=FrameHeadFactory()), *rest))

    return replace(plan, vertices=tuple(map(changed, plan.vertices)))


def sorted_by_spark(stages: Sequence[Stage], frames: dict[int, FrameInput]) -> dict[int, str]:
    """Return the stages whose input is a DataFrame keyed by one of its columns, with that column."""
    found = {stage.vertex.id: _key_column(stage, stages, frames) for stage in stages}
    return {stage: column for stage, column in found.items() if column is not None}


def _key_column(stage: Stage, stages: Sequence[Stage], frames: dict[int, FrameInput]) -> str | None:
    if len(stage.inputs) != 1 or stage.inputs[0].shuffle is not Shuffle.BY_KEY:
        return None
    before = stages[stage.inputs[0].stage].vertex
    selector = stage.inputs[0].key_selector
    if before.id not in frames or len(before.operators) > 1 or _opens(selector):
        return None
    frame = frames[before.id]
    column = key_column(method_of(selector, "get_key"), frame.schema.names)
    return column if column is not None and frame.can_sort_by(column) else None


def _opens(selector: Any) -> bool:
    """Whether the selector has to be opened before it is called, which happens in tasks only."""
    return isinstance(selector, KeySelector) and type(selector).open is not KeySelector.open
