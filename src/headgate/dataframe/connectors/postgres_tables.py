"""The connector `jdbc` for PostgreSQL, by the options of Flink's connector. No Java is involved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from headgate.columns.schema import Schema
from headgate.config_kinds import TEXT
from headgate.dataframe.connectors.options import Options
from headgate.functions.sink import Sink
from headgate.functions.source import Source

_PARTITIONS: Final = [f"scan.partition.{name}" for name in ("column", "num", "lower-bound", "upper-bound")]
_FLUSHES: Final = ["sink.buffer-flush.max-rows", "sink.buffer-flush.interval", "sink.max-retries"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class PostgresScan:
    """The rows of a table."""

    url: str = field(repr=False)
    table: str
    schema: Schema
    conforms = True

    def source(self, columns: Sequence[str]) -> Source[Any]:
        from headgate.connectors.postgres.source import PostgresSource  # noqa: PLC0415  # psycopg is an extra

        return PostgresSource(self.url, self.table, self.schema.only(columns))


def postgres_scan(options: Options, schema: Schema) -> PostgresScan:
    """Return the table of the connector's options. Raises ValueError for wrong options, ProgramError for a type."""
    options.refuse(_PARTITIONS, "the table is divided by its pages; select rows with filter()")
    options.refuse(["lookup.cache", "lookup.max-retries"], "there are no lookup joins")
    scan = PostgresScan(_url(options), options.required("table-name", TEXT), schema)
    scan.source(schema.names)
    return scan


def postgres_written(options: Options, schema: Schema) -> Sink[Any]:
    """Return the sink of the connector's options, which inserts rows. Raises ValueError for wrong options."""
    from headgate.connectors.postgres import PostgresSink, PostgresTable  # noqa: PLC0415  # psycopg is an extra

    options.refuse(_FLUSHES, "rows become visible with their checkpoint, exactly once")
    return PostgresSink(PostgresTable(_url(options), options.required("table-name", TEXT), schema.names))


def _url(options: Options) -> str:
    """Return the URL for libpq. Raises UnsupportedError for another database than PostgreSQL."""
    from headgate.connectors.postgres import jdbc  # noqa: PLC0415  # psycopg is an extra

    given = jdbc.JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(options.required("url", TEXT))
    for name, set_option in (
        ("username", given.with_user_name),
        ("password", given.with_password),
        ("driver", given.with_driver_name),
    ):
        value = options.optional(name, TEXT)
        if value is not None:
            set_option(value)
    return jdbc.libpq_url(given.build())
