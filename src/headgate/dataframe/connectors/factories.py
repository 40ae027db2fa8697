"""The connectors of `read_generic` and `write_generic`, by Flink's identifiers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from headgate.columns.schema import Schema
from headgate.config_kinds import BOOLEAN, INTEGER, TEXT
from headgate.connectors.console import BlackholeSink, PrintSink
from headgate.dataframe.connectors.datagen import generated_scan
from headgate.dataframe.connectors.delta_tables import delta_scan, delta_written
from headgate.dataframe.connectors.file_formats import file_scan, files_written
from headgate.dataframe.connectors.options import Options
from headgate.dataframe.connectors.postgres_tables import postgres_scan, postgres_written
from headgate.dataframe.planner.logical import ColumnSource
from headgate.errors import UnsupportedError
from headgate.functions.sink import Sink
from headgate.types.arrow_types import type_of_schema


def source_of(connector: str, schema: Schema, given: Mapping[str, str]) -> ColumnSource:
    """Return the source of `read_generic`. Raises the errors of `read_generic`."""
    make, options = _chosen(_SOURCES, "read", connector, given)
    made = make(options, schema)
    options.check()
    return made


def sink_of(connector: str, schema: Schema, given: Mapping[str, str]) -> tuple[Sink[Any], int | None]:
    """Return the sink of `DataFrame.write_generic`, and how many subtasks write. Raises the errors of `read_generic`.

    None stands for the parallelism of the job.
    """
    make, options = _chosen(_SINKS, "written to", connector, given)
    made = make(options, schema)
    parallelism = options.optional("sink.parallelism", INTEGER)
    options.check()
    return made, parallelism


Make = TypeVar("Make")


def _chosen(made_by: Mapping[str, Make], done: str, name: Any, given: Any) -> tuple[Make, Options]:
    if not isinstance(name, str):
        raise TypeError(f"a connector is named by a text, not {name!r:.100}")
    if name in _JAVA:
        raise UnsupportedError(
            f"the connector {name!r} is in Java: read with Spark and from_spark(), write with to_spark() or, from a "
            "stream, with SparkSink; or give DataFrame.write() a sink, and from_data_stream() a source, of your own"
        )
    if name not in made_by:
        names = [*made_by, "kafka"]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, names))}"
        raise ValueError(f"no connector {name!r} can be {done}: {advice}")
    return made_by[name], Options(name, given)


def _print(options: Options, schema: Schema) -> Sink[Any]:
    identifier = options.get("print-identifier", TEXT, "")
    return PrintSink(type_of_schema(schema.arrow), identifier, options.get("standard-error", BOOLEAN, False))


def _blackhole(options: Options, schema: Schema) -> Sink[Any]:
    return BlackholeSink()


_SOURCES: Final[Mapping[str, Callable[[Options, Schema], ColumnSource]]] = {
    "filesystem": file_scan,
    "datagen": generated_scan,
    "delta": delta_scan,
    "jdbc": postgres_scan,
}
_SINKS: Final[Mapping[str, Callable[[Options, Schema], Sink[Any]]]] = {
    "filesystem": files_written,
    "print": _print,
    "blackhole": _blackhole,
    "delta": delta_written,
    "jdbc": postgres_written,
}
_JAVA: Final = frozenset(
    [
        "cassandra",
        "dynamodb",
        "elasticsearch-6",
        "elasticsearch-7",
        "elasticsearch-8",
        "firehose",
        "fluss",
        "hbase-1.4",
        "hbase-2.2",
        "hive",
        "hudi",
        "iceberg",
        "kinesis",
        "kinesis-legacy",
        "mongodb",
        "mongodb-cdc",
        "mysql-cdc",
        "opensearch",
        "oracle-cdc",
        "paimon",
        "postgres-cdc",
        "prometheus",
        "pulsar",
        "rabbitmq",
        "sqlserver-cdc",
        "sqs",
        "upsert-kafka",
    ]
)
"""Flink's identifiers of connectors for which there is no connector here."""
