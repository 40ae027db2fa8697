"""A bounded source of the rows of a table of PostgreSQL, as record batches.

The server sends rows as CSV (COPY), which Arrow divides into columns of texts. A split is a range of the table's pages,
and rows come in their physical order, so a restored reader continues behind the last row (its `ctid`). Each split is
read in a transaction of its own: a table that changes meanwhile is seen as of several moments.
"""

from __future__ import annotations

import io
import json
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from psycopg import sql

from headgate.columns.logical_types import BYTES, NESTED, TEXTS, Kind, LogicalType
from headgate.columns.schema import Schema
from headgate.connectors.formats.json_columns import stored
from headgate.connectors.postgres.database import Connection, Database
from headgate.errors import ProgramError, SourceError
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader

_SESSION: Final = "headgate source"
_PAGES_MIN: Final = 128
"""The fewest pages of a split, a megabyte."""
_CHUNK_BYTES: Final = 1 << 20
_SETTINGS: Final = (
    "SET DateStyle = ISO",
    "SET TimeZone = 'UTC'",
    "SET bytea_output = hex",
    "SET extra_float_digits = 1",
    # Rows must come in the order of their ctid.
    "SET synchronize_seqscans = off",
    "SET max_parallel_workers_per_gather = 0",
)
_RELATIONS: Final = (
    "SELECT n.nspname, c.relname, c.relkind, pg_relation_size(c.oid) / current_setting('block_size')::int "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid IN "
    "(SELECT %(table)s::regclass UNION SELECT relid FROM pg_partition_tree(%(table)s::regclass) WHERE isleaf) "
    "AND c.relkind <> 'p' ORDER BY 1, 2"
)


@final
@dataclass(frozen=True, slots=True)
class PageSplit:
    """The rows of a table, or of a partition of it, behind the row `after` and before the page `end`."""

    schema: str
    name: str
    after: str
    end: int

    @property
    def part(self) -> str:
        """The id, which does not depend on the position."""
        return f"{self.schema}.{self.name}#{self.end}"


@final
class PostgresSource(Source[PageSplit]):
    """The columns of a table, by their names, with the types of a schema.

    Raises ProgramError naming a column of bytes within an array, map or row.
    """

    one_split_at_a_time = True

    def __init__(self, url: str, table: str, schema: Schema) -> None:
        self._database = Database(url)
        self._table = table
        self._schema = schema
        for name, own in schema:
            if own.kind in NESTED and _has_bytes(own):
                raise ProgramError(f"column {name!r} is {own}: the source cannot read bytes within other values")

    def splits(self, parallelism: int) -> list[PageSplit]:
        name = sql.Identifier(*self._table.split("."))
        with self._database.reading(f"read table {self._table!r}"), self._database.connect(_SESSION) as connection:
            found = connection.execute(_RELATIONS, {"table": name.as_string(connection)}).fetchall()
            listed = sql.SQL(", ").join(_expression(*own) for own in self._schema)
            connection.execute(sql.SQL("SELECT {} FROM {} LIMIT 0").format(listed, name))
        if wrong := next((name for _, name, kind, _ in found if kind not in ("r", "m")), None):
            raise SourceError(
                f"{wrong!r} in {self._database} is no table, so its rows have no place to continue from after a "
                "failure: read it with Spark and from_spark()"
            )
        return [split for schema, name, _, pages in found for split in _cut(schema, name, int(pages), parallelism)]

    def split_id(self, split: PageSplit) -> str:
        return split.part

    def reader(self, context: SourceContext) -> PostgresReader:
        return PostgresReader(self._database, self._schema, context)


def _has_bytes(kind: LogicalType) -> bool:
    return kind.kind in BYTES or any(_has_bytes(inner) for _, inner in kind.fields)


def _cut(schema: str, name: str, pages: int, parallelism: int) -> Iterator[PageSplit]:
    step = max(math.ceil(pages / parallelism), _PAGES_MIN)
    for start in range(0, pages, step):
        yield PageSplit(schema, name, f"({start},0)", min(start + step, pages))


def _expression(name: str, kind: LogicalType) -> sql.Composed:
    """Return the expression of a column as text, in the form that `_column` reads."""
    form = {
        Kind.TIMESTAMP: "{}::timestamp",
        Kind.TIMESTAMP_LTZ: "{}::timestamptz",
        **dict.fromkeys(NESTED, "to_json({})"),
    }.get(kind.kind, "{}")
    return sql.SQL(f"({form})::text").format(sql.Identifier(name))


@final
class PostgresReader(SourceReader[PageSplit]):
    """Reads its splits one after the other, a chunk of rows at a time on an I/O thread."""

    def __init__(self, database: Database, schema: Schema, context: SourceContext) -> None:
        self._database = database
        self._schema = schema
        self._context = context
        self._splits: deque[PageSplit] = deque()
        self._chunks: Iterator[pa.RecordBatch] | None = None
        self._rows: pa.RecordBatch | None = None
        self._is_reading = False
        self._ended = False
        self._closed = False
        self._error: BaseException | None = None

    def add_splits(self, splits: list[PageSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if self._error is not None:
            raise self._error
        if not self._splits:
            return END_OF_INPUT
        split = self._splits[0]
        if self._rows is not None:
            return self._take(split, self._rows, records_max)
        if self._ended:
            self._chunks, self._ended = None, False
            self._splits.popleft()
            return Records([], split=split.part, ended=True)
        if not self._is_reading:
            self._is_reading = True
            self._chunks = self._read(split) if self._chunks is None else self._chunks
            self._context.submit(self._next_chunk, self._read_chunk)
        return NotReady(math.inf)

    def _take(self, split: PageSplit, rows: pa.RecordBatch, records_max: int) -> Poll:
        part, rest = rows.slice(0, records_max), rows.slice(records_max)
        self._rows = rest if rest.num_rows else None
        places = part.column(0)
        self._splits[0] = replace(split, after=places[len(places) - 1].as_py())
        columns = pa.RecordBatch.from_arrays(part.columns[1:], schema=self._schema.arrow)
        return Records(columns, split=split.part)

    def _next_chunk(self) -> pa.RecordBatch | None:
        """Return the next rows, None at the end. Runs on an I/O thread, one call at a time."""
        chunks = self._chunks
        found = None if chunks is None else next(chunks, None)
        if self._closed:
            self._hang_up()
        return found

    def _read_chunk(self, found: pa.RecordBatch | BaseException | None) -> None:
        self._is_reading = False
        if isinstance(found, BaseException):
            self._error = found
        else:
            self._rows, self._ended = found, found is None

    def _read(self, split: PageSplit) -> Iterator[pa.RecordBatch]:
        listed = sql.SQL(", ").join([sql.SQL("ctid::text"), *(_expression(*own) for own in self._schema)])
        query = sql.SQL(
            "COPY (SELECT {} FROM ONLY {} WHERE ctid > {} AND ctid < {}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
        ).format(listed, sql.Identifier(split.schema, split.name), split.after, f"({split.end},0)")
        with self._database.reading(f"read table {split.name!r}"), self._database.connect(_SESSION) as connection:
            for setting in _SETTINGS:
                connection.execute(setting)
            yield from self._chunks_of(connection, query)

    def _chunks_of(self, connection: Connection, query: sql.Composed) -> Iterator[pa.RecordBatch]:
        with connection.cursor().copy(query) as copy:
            rows: list[bytes] = []
            size = 0
            for row in copy:  # the server sends each row in a message of its own
                rows.append(bytes(row))
                size += len(row)
                if size >= _CHUNK_BYTES:
                    yield self._columns(b"".join(rows))
                    rows, size = [], 0
            if rows:
                yield self._columns(b"".join(rows))

    def _columns(self, block: bytes) -> pa.RecordBatch:
        names = [f"c{place}" for place in range(len(self._schema) + 1)]
        table = pa.csv.read_csv(
            io.BytesIO(block),
            read_options=pa.csv.ReadOptions(use_threads=False, column_names=names, block_size=len(block) + 1),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        places, *texts = [own.combine_chunks() for own in table.columns]
        made = [_column(own, kind, name) for own, (name, kind) in zip(texts, self._schema, strict=True)]
        fields = [pa.field("", pa.string()), *self._schema.arrow]
        return pa.RecordBatch.from_arrays([places, *made], schema=pa.schema(fields))

    def snapshot(self) -> list[PageSplit]:
        return list(self._splits)

    def close(self) -> None:
        self._closed = True
        if not self._is_reading:
            self._hang_up()

    def _hang_up(self) -> None:
        chunks: Any = self._chunks
        if chunks is not None:
            chunks.close()


def _column(texts: pa.Array, kind: LogicalType, name: str) -> pa.Array:
    """Return the values of texts as PostgreSQL writes them. Raises `SourceError` naming the column."""
    try:
        made = _values(texts, kind, name)
    except (pa.ArrowException, ValueError) as error:
        raise SourceError(f"column {name!r} has a value that is no {kind}: {error}") from error
    if made.null_count and not kind.nullable:
        raise SourceError(f"column {name!r} has NULL where it is read, but is NOT NULL in schema")
    return made


def _values(texts: pa.Array, kind: LogicalType, name: str) -> pa.Array:
    if kind.kind in TEXTS:
        return texts
    if kind.kind in BYTES:
        return pa.array([None if own is None else bytes.fromhex(own[2:]) for own in texts.to_pylist()], kind.arrow)
    if kind.kind in NESTED:
        values = (None if own is None else json.loads(own, parse_float=Decimal) for own in texts.to_pylist())
        return pa.array([stored(own, kind, name) for own in values], kind.arrow)
    if kind.kind is Kind.TIME:
        days = pc.binary_join_element_wise(pa.scalar("1970-01-01"), texts, pa.scalar(" "))
        return pc.cast(pc.cast(days, pa.timestamp("us")), kind.arrow)
    if kind.kind is Kind.BOOLEAN:
        return pc.equal(texts, "true")
    return pc.cast(texts, kind.arrow)
