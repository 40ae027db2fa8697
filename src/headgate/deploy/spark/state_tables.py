"""The data source `headgate`: tables of state for Spark SQL, which executors read.

This module implements Spark's interface. The caller of `register` passes the tables, because their classes are in a
part above this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from headgate.deploy.spark.releases import arrow_schema
from headgate.deploy.spark.session import obtain

NAME = "headgate"
"""The name of the data source in `format(...)` and `USING`."""


class Table(Protocol):
    """A table with parts that any process can read."""

    def schema(self) -> pa.Schema:
        """Return the columns."""
        ...

    def pinned(self) -> Table:
        """Return the table at its current snapshot: it has the same parts in any process, now and later."""
        ...

    def parts(self) -> list[int]:
        """Return the numbers of the parts."""
        ...

    def read(self, part: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part with these columns."""
        ...


def register(tables: Callable[[Mapping[str, str]], Table], spark: SparkSession | None) -> None:
    """Register the data source in `spark`, else in the active session, else in a new session.

    `tables` returns the table for the options of a query.
    """
    obtain(spark, 1).dataSource.register(data_source(tables))


def data_source(tables: Callable[[Mapping[str, str]], Table]) -> type[DataSource]:
    """Return the class of the data source. It is pickled by value, so that `tables` reaches other processes."""

    class StateDataSource(DataSource):
        """One table. It is pinned when Spark plans a query: as late as Spark allows."""

        def __init__(self, options: Any) -> None:
            super().__init__(options)
            self._table = tables({key.lower(): value for key, value in options.items()})

        @classmethod
        def name(cls) -> str:
            return NAME

        def schema(self) -> StructType:
            return from_arrow_schema(self._table.schema(), True)

        def reader(self, schema: StructType) -> DataSourceReader:
            return TableReader(self._table.pinned(), arrow_schema(schema))

    return StateDataSource


@final
class TableReader(DataSourceReader):
    """Reads a table in tasks of Spark, one part per task."""

    def __init__(self, table: Table, schema: pa.Schema) -> None:
        self._table = table
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(part) for part in self._table.parts()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._table.read(partition.value, self._schema)
