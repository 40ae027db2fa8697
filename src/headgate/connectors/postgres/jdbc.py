"""PyFlink's `JdbcSink`, for PostgreSQL: a statement of SQL for each record, at least once. No Java is involved.

`PostgresSink` writes each record exactly once, and several times faster.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any, Final, final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg

from headgate.connectors.postgres.database import Connection, Database, answers
from headgate.connectors.postgres.values import TargetTable, Values, parameters_of
from headgate.errors import ProgramError, SinkError, UnsupportedError
from headgate.functions.api import SinkFunction
from headgate.functions.checkpointed import CheckpointedFunction, FunctionInitializationContext, FunctionSnapshotContext
from headgate.functions.context import Context, RuntimeContext
from headgate.types.typeinfo import RowTypeInfo

_DRIVER: Final = "org.postgresql.Driver"
_URL: Final = "jdbc:postgresql:"
_SAME: Final = {"user", "password", "sslmode", "sslrootcert", "sslcert", "sslkey"}
_RENAMED: Final = {"connectTimeout": "connect_timeout"}
_NEEDLESS: Final = {"reWriteBatchedInserts", "ApplicationName", "prepareThreshold"}
_TOKENS: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\?\?|\?|%""")


@final
@dataclass(frozen=True, slots=True)
class JdbcConnectionOptions:
    """The address of the database, and the user for connections."""

    _url: str = field(repr=False)
    _driver: str | None = None
    _user: str | None = None
    _password: str | None = field(default=None, repr=False)

    def get_db_url(self) -> str:
        """Return the URL as it was given."""
        return self._url

    def get_driver_name(self) -> str | None:
        """Return the name of the driver, which is not used."""
        return self._driver

    def get_user_name(self) -> str | None:
        """Return the user."""
        return self._user

    def get_password(self) -> str | None:
        """Return the password."""
        return self._password

    @final
    class JdbcConnectionOptionsBuilder:
        """Builds `JdbcConnectionOptions`. Each setting changes the builder and returns it."""

        def __init__(self) -> None:
            self._given: dict[str, str] = {}

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the URL, as in jdbc:postgresql://host:5432/database. `JdbcSink.sink` checks it."""
            return self._with("_url", url)

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the driver, which needs no jar here. Raises UnsupportedError for the driver of another database."""
            if driver_name != _DRIVER:
                raise UnsupportedError(
                    f"there is no sink for the driver {driver_name!r}, only for {_DRIVER}: derive from "
                    "headgate.functions.flushing.FlushingSink, as docs/guides/sinks.md shows"
                )
            return self._with("_driver", driver_name)

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user, unless it is in the URL."""
            return self._with("_user", user_name)

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password, unless it is in the URL."""
            return self._with("_password", password)

        def _with(self, name: str, value: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            self._given[name] = value
            return self

        def build(self) -> JdbcConnectionOptions:
            """Return the options. Raises ProgramError without a URL."""
            if "_url" not in self._given:
                raise ProgramError("JdbcConnectionOptions need a URL: call with_url('jdbc:postgresql://host/database')")
            return JdbcConnectionOptions(**self._given)


@final
@dataclass(frozen=True, slots=True)
class JdbcExecutionOptions:
    """When rows are sent: by batch size, or by the age of the oldest row (0: at any age), and the number of retries."""

    _batch_interval_ms: int = 0
    _batch_size: int = 5000
    _max_retries: int = 3

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return Flink's defaults."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Return a builder."""
        return JdbcExecutionOptions.Builder()

    def get_batch_interval_ms(self) -> int:
        """Return the longest wait of a row in milliseconds. It is checked when the next row comes."""
        return self._batch_interval_ms

    def get_batch_size(self) -> int:
        """Return the number of rows that are sent together."""
        return self._batch_size

    def get_max_retries(self) -> int:
        """Return the number of retries after a lost connection."""
        return self._max_retries

    @final
    class Builder:
        """Builds `JdbcExecutionOptions`. Each setting changes the builder and returns it."""

        def __init__(self) -> None:
            self._given: dict[str, int] = {}

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Set the number of rows that are sent together."""
            return self._with("_batch_size", size, 1)

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Set the longest wait of a row in milliseconds. It is checked when the next row comes."""
            return self._with("_batch_interval_ms", interval_ms, 0)

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set the number of retries after a lost connection."""
            return self._with("_max_retries", max_retries, 0)

        def _with(self, name: str, value: int, least: int) -> JdbcExecutionOptions.Builder:
            if value < least:
                raise ProgramError(f"with{name}({value}) has no meaning: give {least} or more")
            self._given[name] = value
            return self

        def build(self) -> JdbcExecutionOptions:
            """Return the options."""
            return JdbcExecutionOptions(**self._given)


@final
class JdbcSink(SinkFunction, CheckpointedFunction):
    """Executes a statement for each `Row`, at least once. With INSERT ... ON CONFLICT ... DO UPDATE that suffices."""

    def __init__(
        self, statement: str, names: tuple[str, ...], database: Database, options: JdbcExecutionOptions
    ) -> None:
        self._statement = statement
        self._names = names
        self._database = database
        self._options = options
        self._rows: list[Values] = []
        self._since_s = 0.0
        self._connection: Connection | None = None
        self._target: TargetTable | None = None

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Return a sink for `add_sink`. The statement has a `?` for each field of the rows, in their order.

        Raises ProgramError for another number of `?`, and UnsupportedError for a URL of another database or with
        unknown parameters.
        """
        statement, places = translated(sql)
        names = type_info.field_names
        if places != len(names):
            raise ProgramError(f"the statement {sql!r} has {places} question marks for rows of {len(names)} fields")
        database = Database(libpq_url(jdbc_connection_options))
        return JdbcSink(statement, names, database, jdbc_execution_options or JdbcExecutionOptions.defaults())

    def open(self, runtime_context: RuntimeContext) -> None:
        with self._database.writing("connect"):
            self._connect()

    def _connect(self) -> tuple[Connection, TargetTable]:
        connection = self._connection = self._database.connect("headgate JdbcSink")
        self._target = TargetTable(parameters_of(connection, self._statement, self._names), self._refused)
        return connection, self._target

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """There is no state: rows are sent before each checkpoint."""

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._flush()

    def invoke(self, value: Any, context: Context) -> None:
        if not self._rows:
            self._since_s = time.monotonic()
        row = tuple(value)
        if len(row) != len(self._names):
            raise SinkError(f"{value!r} has {len(row)} fields, but the statement has {len(self._names)} question marks")
        self._rows.append(row)
        interval_ms = self._options.get_batch_interval_ms()
        is_due = interval_ms and (time.monotonic() - self._since_s) * 1000 >= interval_ms
        if is_due or len(self._rows) >= self._options.get_batch_size():
            self._flush()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        retries = self._options.get_max_retries()
        while rows:
            try:
                self._send(rows)
                return
            except SinkError as error:
                if retries == 0 or not isinstance(error.__cause__, psycopg.OperationalError):
                    raise
                retries -= 1

    def _send(self, rows: list[Values]) -> None:
        with self._database.writing(f"execute {self._statement!r}"):
            connection, target = self._connection, self._target
            if connection is None or target is None or not answers(connection):
                connection, target = self._connect()
            fitted = target.fitted(rows)
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    cursor.executemany(self._statement.encode(), fitted)
            except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError, ValueError) as error:
                row = self._culprit(connection, fitted) if _is_of_a_row(error) else None
                if row is None:
                    raise
                raise SinkError(self._refused(row, str(error).strip())) from error

    def _culprit(self, connection: Connection, rows: list[Values]) -> Values | None:
        """Return the first row that the statement fails for, None if it fails for no row. Rolls everything back."""
        with connection.transaction(force_rollback=True):
            for row in rows:
                try:
                    with connection.transaction():
                        connection.execute(self._statement.encode(), row)
                except (psycopg.Error, ValueError):
                    return row
        return None

    def _refused(self, values: Values, why: str) -> str:
        row = dict(zip(self._names, values, strict=True))
        return f"the row {row} cannot be written by {self._statement!r} in {self._database}: {why}"

    def finish(self) -> None:
        self._flush()

    def close(self) -> None:
        try:
            self._flush()
        finally:
            if self._connection is not None:
                self._connection.close()


def _is_of_a_row(error: psycopg.Error | ValueError) -> bool:
    """Return whether the error is a row's, so that other rows may succeed: a value does not fit or cannot be sent."""
    return isinstance(error, psycopg.DataError | psycopg.IntegrityError | ValueError) or error.sqlstate is None


def translated(statement: str) -> tuple[str, int]:
    """Return a statement with the placeholders of psycopg, and the number of placeholders.

    >>> translated("INSERT INTO t VALUES (?, '?', ?) -- 100 %")
    ("INSERT INTO t VALUES (%s, '?', %s) -- 100 %%", 2)
    """
    places = 0

    def one(found: re.Match[str]) -> str:
        nonlocal places
        if found[0] == "?":
            places += 1
            return "%s"
        return "?" if found[0] == "??" else found[0].replace("%", "%%")

    return _TOKENS.sub(one, statement), places


def libpq_url(options: JdbcConnectionOptions) -> str:
    """Return the URL for libpq that has the same meaning as the options' JDBC URL."""
    url = options.get_db_url()
    if not url.startswith(_URL):
        kind = ":".join(url.split(":")[:2])
        raise UnsupportedError(
            f"a URL that begins with {kind!r} is not a URL of PostgreSQL ({_URL}//host/database): for other databases "
            "derive from headgate.functions.flushing.FlushingSink, as docs/guides/sinks.md shows"
        )
    rest = url.removeprefix(_URL)
    parts = urlsplit(f"postgresql:{rest if rest.startswith('//') else f'///{rest}'}")
    given = {name: value for name, value in parse_qsl(parts.query) if name not in _NEEDLESS}
    if unknown := sorted(given.keys() - _SAME - _RENAMED.keys()):
        raise UnsupportedError(
            f"the parameters {', '.join(unknown)} of the URL have no counterpart here: leave them out, or use "
            "PostgresSink with a URL of libpq"
        )
    renamed = {_RENAMED.get(name, name): value for name, value in given.items()}
    for name, value in (("user", options.get_user_name()), ("password", options.get_password())):
        if value is not None:
            renamed[name] = value
    return f"postgresql://{parts.netloc}{parts.path}?{urlencode(renamed, quote_via=quote)}"
