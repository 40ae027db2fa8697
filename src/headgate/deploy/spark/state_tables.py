"""The data source `headgate`: tables of state for Spark SQL, read by the executors.

What the tables are is told by what `register` is given, since that lies above this part: here is only what Spark asks.
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
"""What the data source is called in `format(...)` and `USING`."""


class Table(Protocol):
    """A table that can be read in parts, in any process."""

    def schema(self) -> pa.Schema:
        """Return the columns."""
        ...

    def pinned(self) -> Table:
        """Return the table as it is now, whatever comes later: it has the same parts in any process."""
        ...

    def parts(self) -> list[int]:
        """Return the parts."""
        ...

    def read(self, part: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part with these columns."""
        ...


def register(tables: Callable[[Mapping[str, str]], Table], spark: SparkSession | None) -> None:
    """Let `spark`, else the active session, else a new one, know the data source; `tables` makes one of its options."""
    obtain(spark, 1).dataSource.register(data_source(tables))


def data_source(tables: Callable[[Mapping[str, str]], Table]) -> type[DataSource]:
    """Return the data source as a class that pickles by value: what it has been given goes along to other processes."""

    class StateDataSource(DataSource):
        """One table, which is pinned when a query on it is planned: as late as Spark allows."""

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
    """Reads a table in the tasks of Spark, a part in each."""

    def __init__(self, table: Table, schema: pa.Schema) -> None:
        self._table = table
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(part) for part in self._table.parts()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._table.read(partition.value, self._schema)
