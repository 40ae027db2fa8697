"""The table that a sink writes to: its columns, its key, and the rows that records become."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, final

import psycopg
from psycopg import sql

from headgate.connectors.postgres.database import Connection, Database
from headgate.connectors.postgres.values import TargetTable, Values, columns_of
from headgate.errors import ProgramError, SinkError
from headgate.types.row import Row

SEQUENCE: Final = "headgate_sequence"
"""The column of a staging table that numbers its rows."""

ROWS_AT_ONCE: Final = 5000
"""Number of rows that a writer collects before it sends them."""

_PLACE: Final = re.compile(
    r"^COPY [^\n]*?, [^\W\d]+ (?P<line>\d+)(?:, [^\W\d]+ (?P<column>[^\n]*?))?(?=:|$)", re.MULTILINE
)
"""Finds line and column in the context of an error of COPY, in any language of the server."""


@final
@dataclass(frozen=True, slots=True, init=False)
class PostgresTable:
    """A table, and how records are written to it: the `columns`, and for an upsert the columns of the `key`.

    A record is a tuple, list or `Row` with a value for each column in their order, or a `Row` or dict with the columns'
    names. `row` is a function that makes one of these from any other record. Without a key, rows are inserted. With a
    key, a row replaces the row with the same key, and of several rows with one key the last counts. The table needs a
    primary key or unique index on exactly the columns of the key.

    Names are taken as written, capitals included; "sales.orders" is a table of the schema "sales". The type of a column
    decides how its values are converted (docs/reference/values.md): a dict in a column of JSON becomes an object.
    Raises ProgramError if `key` has a name that is not in `columns`, or if a name is repeated.

    >>> table = PostgresTable("postgresql://me:secret@db/shop", "totals", ["customer", "amount"], key=["customer"])
    >>> table
    PostgresTable(name='totals', columns=('customer', 'amount'), key=('customer',))
    >>> table.rows([("ann", 5), {"customer": "bob", "amount": 7}])
    [('ann', 5), ('bob', 7)]
    """

    database: Database = field(repr=False)
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    row: Callable[[Any], Any] | None = field(repr=False)

    def __init__(
        self,
        url: str,
        name: str,
        columns: Sequence[str],
        *,
        key: Sequence[str] = (),
        row: Callable[[Any], Any] | None = None,
    ) -> None:
        for names, what in ((columns, "columns"), (key, "key")):
            if isinstance(names, str):
                raise ProgramError(f"the {what} of table {name!r} are a list of names, not the text {names!r}")
        if not columns or len(set(columns)) < len(columns):
            raise ProgramError(f"the columns of table {name!r} are {list(columns)}: name at least one, and each once")
        if unknown := [each for each in key if each not in columns]:
            raise ProgramError(f"the key of table {name!r} has {unknown}, which are not among its columns {columns}")
        for attribute, value in (
            ("database", Database(url)),
            ("name", name),
            ("columns", tuple(columns)),
            ("key", tuple(key)),
            ("row", row),
        ):
            object.__setattr__(self, attribute, value)

    def rows(self, records: Iterable[Any]) -> list[Values]:
        """Return the rows of records. Raises `SinkError` for a record that is no row of this table."""
        width, make, own = len(self.columns), self.row, self._values
        made = records if make is None else map(make, records)
        return [each if type(each) is tuple and len(each) == width else own(each) for each in made]

    def _values(self, record: Any) -> Values:
        try:
            if isinstance(record, dict):
                return tuple([record[column] for column in self.columns])
            if isinstance(record, Row) and record._fields is not None:
                return tuple([record[column] for column in self.columns])
            values = tuple(record) if isinstance(record, tuple | list | Row) else None
        except (KeyError, ValueError, AttributeError) as error:
            raise SinkError(f"{record!r} is not a row of table {self.name!r}: it has no column {error}") from error
        if values is None or len(values) != len(self.columns):
            raise SinkError(
                f"{record!r} is not a row of table {self.name!r} with the columns {_quoted(self.columns)}: emit "
                "tuples, Rows or dicts, or give PostgresTable a function `row` that makes them"
            )
        return values

    def writing(self) -> AbstractContextManager[None]:
        """Turn errors of the database into `SinkError`: rows could not be written."""
        return self.database.writing(f"write to table {self.name!r}")

    @property
    def identifier(self) -> sql.Identifier:
        """The name of the table, quoted for SQL."""
        return sql.Identifier(*self.name.split("."))

    def insert_from(self, staging: sql.Composable) -> sql.Composed:
        """Return the statement that moves rows from a staging table into this one, in order."""
        columns = _listed(self.columns)
        if not self.key:
            statement = "INSERT INTO {table} ({columns}) SELECT {columns} FROM {staging} ORDER BY {sequence}"
        else:
            # ON CONFLICT may change a row only once in a statement: of several rows with one key the last is taken.
            statement = (
                "INSERT INTO {table} ({columns}) SELECT DISTINCT ON ({key}) {columns} FROM {staging} "
                "ORDER BY {key}, {sequence} DESC ON CONFLICT ({key}) DO {change}"
            )
        return sql.SQL(statement).format(
            table=self.identifier,
            columns=columns,
            staging=staging,
            sequence=sql.Identifier(SEQUENCE),
            key=_listed(self.key),
            change=self._change(),
        )

    def _change(self) -> sql.Composable:
        others = [sql.Identifier(column) for column in self.columns if column not in self.key]
        if not others:
            return sql.SQL("NOTHING")
        changes = [sql.SQL("{0} = EXCLUDED.{0}").format(column) for column in others]
        return sql.SQL("UPDATE SET {}").format(sql.SQL(", ").join(changes))

    def create_staging(
        self, connection: Connection, staging: sql.Composable, kind: str = "TABLE", ending: str = ""
    ) -> None:
        """Create an empty staging table with this table's types and checks, so that wrong rows are found early.

        Raises psycopg.Error.
        """
        connection.execute(
            sql.SQL("CREATE {} {} ({} bigint, LIKE {} INCLUDING CONSTRAINTS) {}").format(
                sql.SQL(kind), staging, sql.Identifier(SEQUENCE), self.identifier, sql.SQL(ending)
            )
        )
        found = connection.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(staging)).description or []
        unused = [column.name for column in found if column.name not in (SEQUENCE, *self.columns)]
        if unused:
            drops = [sql.SQL("DROP COLUMN {}").format(sql.Identifier(column)) for column in unused]
            connection.execute(sql.SQL("ALTER TABLE {} {}").format(staging, sql.SQL(", ").join(drops)))

    def target(self, connection: Connection) -> TargetTable:
        """Return the columns as the server describes them. Raises psycopg.Error."""
        return TargetTable(columns_of(connection, self.identifier, self.columns), self.refused)

    def copy(self, connection: Connection, rows: Iterable[Values], target: sql.Composable, *more: str) -> None:
        """Copy rows into `target`, whose columns are `more` and then this table's columns. Blocks.

        Raises `SinkError` naming a row that does not fit, and psycopg.Error.
        """
        columns = _listed((*more, *self.columns))
        taken: list[Values] = []
        try:
            with connection.cursor().copy(sql.SQL("COPY {} ({}) FROM STDIN").format(target, columns)) as copy:
                write = copy.write_row
                for row in rows:
                    taken.append(row)
                    write(row)
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError) as error:
            place = _PLACE.search(error.diag.context or "")
            if error.sqlstate and not place:
                raise  # no row is at fault
            row = taken[int(place["line"]) - 1 if place else -1][len(more) :]
            column = place["column"] if place else _unsendable(connection, self.columns, row)
            raise SinkError(self._refused_by_server(row, column, error)) from error
        except (ValueError, TypeError) as error:  # the client's, for instance for text that UTF-8 cannot encode
            row = taken[-1][len(more) :]
            column = _unsendable(connection, self.columns, row)
            raise SinkError(self.refused(row, f"column {column!r} does not take its value: {error}")) from error

    def _refused_by_server(self, row: Values, column: str | None, error: psycopg.Error) -> str:
        why = error.diag.message_primary or str(error)
        return self.refused(row, why if column is None else f"column {column!r} does not take its value: {why}")

    def refused(self, values: Values, why: str) -> str:
        """Return the error message for a row that cannot be written."""
        row = dict(zip(self.columns, values, strict=True))
        return f"the row {row} cannot be written to table {self.name!r} in {self.database}: {why}"


def _unsendable(connection: Connection, columns: Iterable[str], row: Values) -> str | None:
    """Return the column with a value that the client cannot send."""
    for column, value in zip(columns, row, strict=True):
        try:
            sql.Literal(value).as_bytes(connection)
        except (psycopg.Error, ValueError, TypeError):
            return column
    return None


def _listed(names: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
