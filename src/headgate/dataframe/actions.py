"""The methods of a DataFrame that run it as a job, and return its rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headgate.dataframe.declarations import check_positive
from headgate.dataframe.description import checked_percentiles, description
from headgate.dataframe.frame import Frame, translation_of
from headgate.dataframe.planner.explain import calls_by_value, text_of_plan
from headgate.dataframe.planner.marks import marks
from headgate.dataframe.planner.optimizer import optimized
from headgate.dataframe.results import FORMATS, CloseableResults, JobBatches, rebatched
from headgate.dataframe.statement_set import StatementSet
from headgate.functions.sink import Sink
from headgate.types.arrow_types import type_of_schema
from headgate.types.row import Row

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame as SparkDataFrame

    from headgate.datastream.data_stream import DataStream

ROW_KIND = "__row_kind__"


class Actions(Frame):
    """Runs the plan. Methods raise JobFailedError if the job fails, and, before it runs, the errors of `execute()`."""

    __slots__ = ()

    def collect(self) -> list[Row]:
        """Run the plan, and return all rows. Blocks until the job ends, which it never does for endless input."""
        batches = JobBatches(self._plan, self._environment)
        with CloseableResults(batches, batches.rows()) as rows:
            return list(rows)

    def to_pandas(self) -> pd.DataFrame:
        """Run the plan, and return all rows as a pandas DataFrame. Blocks until the job ends."""
        batches = JobBatches(self._plan, self._environment)
        with CloseableResults(batches, iter(batches)) as found:
            return pa.Table.from_batches(list(found), self.schema.arrow).to_pandas()

    def describe(
        self, percentiles: Sequence[float] | float | None = (0.25, 0.5, 0.75), *, batch_format: str = "pandas"
    ) -> Any:
        """Run the plan, and return statistics of its columns, as Polars does. Blocks until the job ends.

        The rows are count, null_count, mean, std, min, each percentile and max. `count` leaves out NULL. A percentile
        is the nearest value. Columns of numbers and BOOLEAN have DOUBLE results, other columns texts; only numbers have
        `std`, and collections only counts. The result is a pandas DataFrame, or with `batch_format="pyarrow"` a
        `pyarrow.Table`. All rows are brought to this process. Raises TypeError and ValueError for percentiles that are
        no numbers from 0 to 1.

        >>> from headgate import dataframe as pf
        >>> print(pf.range(5).describe(0.5).to_string(index=False))
         statistic       id
             count 5.000000
        null_count 0.000000
              mean 2.000000
               std 1.581139
               min 0.000000
               50% 2.000000
               max 4.000000
        """
        self._check_batches(1, batch_format, False, ROW_KIND)
        wanted = checked_percentiles(percentiles)
        batches = JobBatches(self._plan, self._environment)
        with CloseableResults(batches, iter(batches)) as found:
            table = pa.Table.from_batches(list(found), self.schema.arrow)
        return _formatted(description(table, self.schema, wanted, self._scope.zone), batch_format, None)

    def iter_rows(
        self, *, include_row_kind: bool = False, row_kind_field: str = ROW_KIND
    ) -> CloseableResults[dict[str, Any]]:
        """Run the plan, and iterate over its rows as dicts, as they arrive. The input need not end.

        `include_row_kind` adds the kind of the row as a last field, "+I" for an inserted row. Raises ValueError if
        there is a column with the name `row_kind_field`.
        """
        self._check_kind_field(include_row_kind, row_kind_field)
        batches = JobBatches(self._plan, self._environment)
        return CloseableResults(batches, batches.dicts(row_kind_field if include_row_kind else None))

    def iter_batches(
        self,
        *,
        batch_size: int = 1000,
        batch_format: str = "pandas",
        include_row_kind: bool = False,
        row_kind_field: str = ROW_KIND,
    ) -> CloseableResults[Any]:
        """Run the plan, and iterate over batches of exactly `batch_size` rows; the last may have fewer.

        A batch is a pandas DataFrame, or with `batch_format="pyarrow"` a `pyarrow.Table`. `next` blocks until a batch
        is full. Raises TypeError and ValueError for other arguments, before the job runs.
        """
        self._check_batches(batch_size, batch_format, include_row_kind, row_kind_field)
        batches = JobBatches(self._plan, self._environment)
        tables = rebatched(iter(batches), batch_size, self.schema.arrow)
        made = (_formatted(table, batch_format, row_kind_field if include_row_kind else None) for table in tables)
        return CloseableResults(batches, made)

    def take(
        self,
        n: int,
        *,
        timeout: float | None = None,
        include_row_kind: bool = False,
        row_kind_field: str = ROW_KIND,
    ) -> list[dict[str, Any]]:
        """Run the plan until there are `n` rows, and return them as dicts; then cancel the job.

        Returns fewer rows if the plan has fewer, or after `timeout` seconds. Blocks; runs nothing for `n` 0.
        """
        _check_take(n, timeout)
        self._check_kind_field(include_row_kind, row_kind_field)
        if n == 0:
            return []
        batches = JobBatches(self._plan, self._environment, timeout)
        with CloseableResults(batches, batches.dicts(row_kind_field if include_row_kind else None)) as dicts:
            return list(itertools.islice(dicts, n))

    def take_batch(
        self,
        n: int,
        *,
        timeout: float | None = None,
        batch_format: str = "pandas",
        include_row_kind: bool = False,
        row_kind_field: str = ROW_KIND,
    ) -> Any:
        """Do the same as `take`, but return a pandas DataFrame, or with `batch_format="pyarrow"` a `pyarrow.Table`."""
        _check_take(n, timeout)
        self._check_batches(1, batch_format, include_row_kind, row_kind_field)
        schema = self.schema.arrow
        table = schema.empty_table()
        if n:
            batches = JobBatches(self._plan, self._environment, timeout)
            with CloseableResults(batches, rebatched(iter(batches), n, schema)) as tables:
                table = next(tables, table)
        return _formatted(table, batch_format, row_kind_field if include_row_kind else None)

    def to_data_stream(self) -> DataStream:
        """Return the stream of the rows, each a `Row`, with their event time if the DataFrame has one. Runs nothing.

        The stream belongs to the environment of the streams that the DataFrame is made of, else to a new one. Points in
        time are `Instant`, as in the DataStream API.
        """
        time = next((place for place, mark in enumerate(marks(self._plan)) if mark and mark.is_time), None)
        return translation_of([self._plan], self._environment).rows(self._plan, time)

    def to_spark(self) -> SparkDataFrame:
        """Run the plan to its end, and return its rows as a Spark DataFrame. Blocks.

        The job writes the columns as Parquet files, which Spark reads. Raises ProgramError if the input does not end,
        or for a column whose type Spark does not have.
        """
        translation = translation_of([self._plan], self._environment)
        return translation.environment.collect_frame(
            type_of_schema(self.schema.arrow), lambda sink: translation.write(self._plan, sink, "DataFrame", None)
        )

    def write(
        self,
        sink: Sink[Any],
        name: str = "Sink",
        *,
        parallelism: int | None = None,
        statement_set: StatementSet | None = None,
    ) -> None:
        """Run the plan, and write its rows to a sink of the DataStream API, as record batches if it takes them.

        Blocks until the job has ended, and raises JobFailedError if the job fails. `parallelism` is the number of
        subtasks that write. With `statement_set`, the write is added to the set, and runs with it. Raises TypeError for
        another object, ValueError for another environment, or a parallelism below 1.
        """
        check_positive("parallelism", parallelism)
        if statement_set is not None:
            if not isinstance(statement_set, StatementSet):
                raise TypeError(f"statement_set is made by create_statement_set(), not {statement_set!r:.100}")
            statement_set.add((self._plan, sink, name, parallelism), self._environment)
            return
        translation = translation_of([self._plan], self._environment)
        translation.write(self._plan, sink, name, parallelism)
        translation.environment.execute()

    def write_parquet(
        self,
        path: str,
        *,
        mode: str = "append",
        compression: str | None = None,
        statement_set: StatementSet | None = None,
    ) -> None:
        """Run the plan, and write its rows into Parquet files in a folder, exactly once. Blocks until the job ends.

        Files become visible when a checkpoint is complete, the last of them at the end of the job. `compression` is
        SNAPPY, GZIP, ZSTD, LZ4, BROTLI or UNCOMPRESSED. Raises ValueError for another one, or a mode that is not
        "append".
        """
        from headgate.dataframe.connectors.file_sinks import parquet_sink  # noqa: PLC0415  # takes long to load

        sink = parquet_sink(self.schema, path, mode, compression)
        self.write(sink, f"files {path}", statement_set=statement_set)

    def write_json(
        self,
        path: str,
        *,
        mode: str = "append",
        timestamp_format: str | None = None,
        ignore_null_fields: bool | None = None,
        statement_set: StatementSet | None = None,
    ) -> None:
        """Run the plan, and write its rows into files of JSON lines in a folder, as `write_parquet` does.

        `timestamp_format` is "SQL", such as `2024-01-01 12:00:00.5`, or "ISO-8601". With `ignore_null_fields`, fields
        that are NULL are left out.
        """
        from headgate.dataframe.connectors.file_sinks import json_sink  # noqa: PLC0415  # takes long to load

        sink = json_sink(self.schema, path, mode, timestamp_format, ignore_null_fields=bool(ignore_null_fields))
        self.write(sink, f"files {path}", statement_set=statement_set)

    def write_kafka(  # noqa: PLR0913  # PyFlink's arguments
        self,
        bootstrap_servers: str,
        *,
        topic: str,
        format: str = "json",
        format_options: Mapping[str, str] | None = None,
        key_format: str | None = None,
        key_format_options: Mapping[str, str] | None = None,
        key_fields: list[str] | None = None,
        value_format: str | None = None,
        value_format_options: Mapping[str, str] | None = None,
        value_fields_include: str = "ALL",
        delivery_guarantee: str = "at-least-once",
        transactional_id_prefix: str | None = None,
        partitioner: str | None = None,
        properties: Mapping[str, str] | None = None,
        sink_parallelism: int | None = None,
        options: Mapping[str, str] | None = None,
        statement_set: StatementSet | None = None,
    ) -> None:
        """Run the plan, and write each row as a message to a topic of Kafka. Blocks until the job ends.

        It takes the formats of `read_kafka`. With `key_format`, the columns `key_fields` are the key, and with
        `value_fields_include="EXCEPT_KEY"` they are not part of the value. `delivery_guarantee` is none, at-least-once
        or exactly-once, which needs a `transactional_id_prefix` that no other sink has: rows then become visible to
        read-committed consumers with each checkpoint. `partitioner` is default (by key, else at random), fixed (each
        subtask writes to one partition) or round-robin. `properties` are settings of librdkafka's producer.

        Raises TypeError and ValueError for wrong arguments.
        """
        # Imports the client of Kafka, which is an extra.
        from headgate.dataframe.connectors import kafka_arguments as arguments  # noqa: PLC0415
        from headgate.dataframe.connectors.kafka_sink import kafka_sink  # noqa: PLC0415

        arguments.refuse_options(options)
        sink = kafka_sink(
            self.schema,
            arguments.clients(bootstrap_servers, None, properties),
            topic,
            arguments.formats(
                format, format_options, (key_format, key_format_options), (value_format, value_format_options)
            ),
            key_fields,
            value_fields_include,
            delivery_guarantee,
            transactional_id_prefix,
            partitioner,
        )
        self.write(sink, f"kafka {topic}", parallelism=sink_parallelism, statement_set=statement_set)

    def write_generic(
        self, connector: str, *, options: Mapping[str, str], statement_set: StatementSet | None = None
    ) -> None:
        """Run the plan, and write its rows to a connector, by Flink's identifier and options.

        `filesystem` writes files in the formats `json`, `parquet`, `csv`, `orc` and `avro`, `delta` a table of Delta
        Lake, `jdbc` a table of PostgreSQL, each row exactly once, and `kafka` a topic as `write_kafka` does. `print`
        writes a line for each row to the output of the slot, `blackhole` drops rows. The option `sink.parallelism` is
        the number of subtasks that write. Raises the errors of `read_generic`.

        >>> from headgate import dataframe as pf
        >>> pf.range(2).write_generic("print", options={"print-identifier": "ids"})
        ids> +I[0]
        ids> +I[1]
        """
        if connector == "kafka":
            from headgate.dataframe.connectors.kafka_options import written_arguments  # noqa: PLC0415  # takes long to load

            self.write_kafka(**written_arguments(options), statement_set=statement_set)
            return
        from headgate.dataframe.connectors.factories import sink_of  # noqa: PLC0415  # takes long to load

        sink, parallelism = sink_of(connector, self.schema, options)
        self.write(sink, connector, parallelism=parallelism, statement_set=statement_set)

    def explain(self) -> str:
        """Return the plan as text: as written, after the planner's rules, and as a job graph. Runs nothing.

        >>> from headgate import dataframe as pf
        >>> print(pf.range(9).filter(pf.col("id") > 5).select(twice=pf.col("id") + pf.col("id")).explain())
        == Logical plan ==
        Project [plus(id, id) as twice]
          Filter [greater(id, 5)]
            Scan range [id]
        == Optimized plan ==
        Project [plus(id, id) as twice]
          Filter [greater(id, 5)]
            Scan range [id]
        == Functions that call Python for each value ==
        none
        == Job graph ==
        1: Source: range -> Calc, parallelism 1
           Source: range, uid Scan-149b2cb9f7c14ebb: columns
           Calc: columns
        """
        made = optimized(self._plan)
        translation = translation_of([self._plan], self._environment)
        return "\n".join(
            [
                "== Logical plan ==",
                text_of_plan(self._plan),
                "== Optimized plan ==",
                text_of_plan(made),
                "== Functions that call Python for each value ==",
                ", ".join(calls_by_value(made)) or "none",
                "== Job graph ==",
                translation.job_text(lambda: translation.stream(made)),
            ]
        )

    def show(self, n: int = 20) -> None:
        """Run the plan until there are `n` rows, and print them as a table. Blocks."""
        print(self.take_batch(n).to_string(index=False, na_rep="NULL"))

    def _repr_html_(self) -> str:
        """Return the names and types of the columns for a notebook. Runs nothing."""
        cells = "".join(f"<tr><td>{escape(name)}</td><td>{escape(str(own))}</td></tr>" for name, own in self.schema)
        return f"<table><tr><th>column</th><th>type</th></tr>{cells}</table>"

    def _check_batches(self, batch_size: int, batch_format: str, include: bool, field: str) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int):
            raise TypeError(f"batch_size is an int, not {batch_size!r}")
        if batch_size < 1:
            raise ValueError(f"batch_size is at least 1, not {batch_size}")
        if not isinstance(batch_format, str):
            raise TypeError(f"batch_format is a str, not {batch_format!r}")
        if batch_format not in FORMATS:
            raise ValueError(f"batch_format is {' or '.join(map(repr, FORMATS))}, not {batch_format!r}")
        self._check_kind_field(include, field)

    def _check_kind_field(self, include: bool, field: str) -> None:
        for name, given, kind in (("include_row_kind", include, bool), ("row_kind_field", field, str)):
            if not isinstance(given, kind):
                raise TypeError(f"{name} is a {kind.__name__}, not {given!r}")
        if include and (not field or field in self.schema):
            raise ValueError(f"row_kind_field is {field!r}, but must be a name that no column has")


def _check_take(n: int, timeout: float | None) -> None:
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"take() takes an int, not {n!r}")
    if n < 0:
        raise ValueError(f"take() takes 0 rows or more, not {n}")
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout is a number of seconds, not {timeout!r}")
    if not math.isfinite(timeout) or timeout < 0:
        raise ValueError(f"timeout is a finite number of seconds, at least 0, not {timeout!r}")


def _formatted(table: pa.Table, batch_format: str, kind_field: str | None) -> Any:
    if kind_field is not None:
        kinds = pa.array(["+I"] * table.num_rows, pa.string())
        table = table.append_column(kind_field, kinds)
    return table.to_pandas() if batch_format == "pandas" else table
