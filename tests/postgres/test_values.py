"""Values of every type in columns of PostgreSQL: each comes back, or is refused with row, column, type and reason."""

from __future__ import annotations

import datetime as dt
import enum
import itertools
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import psycopg
import pytest

from headgate.connectors.postgres import PostgresFlushingSink, PostgresTable, PreparedPostgresSink
from headgate.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from headgate.errors import SinkError
from headgate.testing.contracts.sink import JOB, open_sink, sink_context
from headgate.testing.servers.postgres import PostgresServer
from headgate.types.fold import NoForm, SequenceTypeInfo, TypeFold
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import BasicType, Types
from tests.postgres.databases import TestDatabase
from tests.postgres.test_errors import write_and_prepare
from tests.unit.types.every_type import EVERY

pytestmark = pytest.mark.slow

EAST: Final = dt.timezone(dt.timedelta(hours=2))
NOON: Final = dt.datetime(2024, 1, 1, 12)
MICRO: Final = dt.datetime(2024, 1, 1, 12, 0, 0, 1)
_NUMBERS: Final = itertools.count()


@pytest.fixture(scope="module")
def values_database(postgres_server: PostgresServer) -> Iterator[TestDatabase]:
    """A database whose sessions have another time zone than UTC."""
    database = TestDatabase(postgres_server, "of_values")
    database.execute("ALTER DATABASE of_values SET timezone = 'Asia/Tokyo'")
    yield database
    database.reset()


class _SqlTypes(TypeFold[str]):
    """The types of columns for values of all types; what is no array of single values is JSON."""

    def string(self, type_info: TypeInformation) -> str:
        return "text"

    def boolean(self) -> str:
        return "boolean"

    def integer(self, type_info: Any) -> str:
        names = {BasicType.BYTE: "smallint", BasicType.SHORT: "smallint", BasicType.INT: "integer"}
        return (names | {BasicType.LONG: "bigint", BasicType.BIG_INT: "numeric"})[type_info.basic_type]

    def floating(self, type_info: Any) -> str:
        return "real" if type_info.basic_type is BasicType.FLOAT else "double precision"

    def decimal(self, type_info: Any) -> str:
        return f"numeric({getattr(type_info, 'precision', 38)}, {getattr(type_info, 'scale', 18)})"

    def instant(self) -> str:
        return "timestamptz"

    def date(self) -> str:
        return "date"

    def time(self) -> str:
        return "time"

    def timestamp(self) -> str:
        return "timestamp"

    def interval(self) -> str:
        return "interval"

    def binary(self) -> str:
        return "bytea"

    def null(self) -> str:
        raise NoForm

    pickled = null

    def sequence(self, type_info: SequenceTypeInfo, element: str) -> str:
        return f"{element}[]"

    def mapping(self, type_info: TypeInformation, key: str, value: str) -> str:
        return "jsonb"

    def tuple(self, type_info: TypeInformation, fields: Sequence[str]) -> str:
        return "jsonb"

    row = tuple


SQL_TYPES: Final = _SqlTypes()


def stored(database: TestDatabase, sql_type: str, *values: Any) -> list[Any]:
    """Write values into a column of a new table, and return what is there."""
    name = f"t{next(_NUMBERS)}"
    database.execute(f'CREATE TABLE {name} (n int, "the column" {sql_type})')
    writer = PostgresFlushingSink(PostgresTable(database.url, name, ["n", "the column"])).flushing_writer(
        sink_context()
    )
    try:
        writer.write(list(enumerate(values)))
        writer.flush()
    finally:
        writer.close()
    return [value for (value,) in database.execute(f'SELECT "the column" FROM {name} ORDER BY n')]


@pytest.mark.parametrize("kind", EVERY, ids=str)
def test_values_of_every_type_come_back_or_are_refused(kind: TypeInformation, values_database: TestDatabase) -> None:
    sql_type = SQL_TYPES.of(kind)
    for value in EVERY[kind]:
        if sql_type == "jsonb" and not _has_json(value):
            with pytest.raises(SinkError, match="column 'the column' is jsonb and does not take") as caught:
                stored(values_database, sql_type, None, value)
            assert f"the row {{'n': 1, 'the column': {value!r}}} cannot be written" in str(caught.value)
        else:
            nothing, found = stored(values_database, sql_type, None, value)
            assert nothing is None
            expected = _as_psycopg(value)
            assert found == expected or (sql_type == "jsonb" and _with_floats(found) == _with_floats(expected))


def _with_floats(value: Any) -> Any:
    """Return JSON whose numbers are floats: jsonb has no exponents, so that 1e300 comes back as an int."""
    return json.loads(json.dumps(value), parse_int=float)


def _has_json(value: Any) -> bool:
    try:
        json.dumps(_as_psycopg(value))
    except TypeError:
        return False
    return True


def _as_psycopg(value: Any) -> Any:
    """Return a value as psycopg returns it: rows and tuples come from JSON, and instants are datetimes."""
    match value:
        case Row():
            return {name: _as_psycopg(each) for name, each in value.as_dict().items()}
        case dict():
            return {name: _as_psycopg(each) for name, each in value.items()}
        case list() | tuple():
            return list(map(_as_psycopg, value))
        case Instant():
            return dt.datetime.fromtimestamp(value.seconds, dt.UTC) + dt.timedelta(microseconds=value.nanos // 1000)
    return value


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("sql_type", "value", "expected"),
    [
        ("jsonb", [], []),
        ("json", {"a": [1, None, 2.5]}, {"a": [1, None, 2.5]}),
        ("jsonb", True, True),
        ("jsonb", Row(a=1, b=Row(c="x")), {"a": 1, "b": {"c": "x"}}),
        ("jsonb", {"a": np.int64(7)}, {"a": 7}),
        ("jsonb", '{"is": "JSON"}', {"is": "JSON"}),
        ("text", {"a": 1}, '{"a": 1}'),
        ("jsonb[]", [[], {"a": 1}, None], [[], {"a": 1}, None]),
        ("int[]", [[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ("text", Colour.RED, "red"),
        ("int", Level.HIGH, 3),
        ("int", 7.0, 7),
        ("bigint", np.int64(7), 7),
        ("bigint", Decimal("1E+2"), 100),
        ("float8", np.float32(0.5), 0.5),
        ("bool", np.bool_(True), True),
        ("numeric", 0.1 + 0.2, Decimal("0.30000000000000004")),
        ("numeric(5, 1)", Decimal("1.500"), Decimal("1.5")),
        ("timestamptz", NOON, NOON.replace(tzinfo=dt.UTC)),
        ("timestamptz", NOON.replace(tzinfo=EAST), NOON.replace(tzinfo=EAST)),
        ("timestamptz", Instant(-1, 999_999_000), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC)),
        ("timestamptz(0)", NOON, NOON.replace(tzinfo=dt.UTC)),
        ("timestamptz[]", [NOON, None], [NOON.replace(tzinfo=dt.UTC), None]),
        ("timestamp", np.datetime64(MICRO), MICRO),
        ("timetz", dt.time(12), dt.time(12, tzinfo=dt.UTC)),
        ("interval", dt.timedelta(days=40, microseconds=-1), dt.timedelta(days=40, microseconds=-1)),
        ("bytea", bytearray(b"ab"), b"ab"),
        ("inet", "127.0.0.1", None),
        ("uuid", "5ce7a710-0000-4000-8000-000000000000", None),
    ],
    ids=str,
)
def test_the_type_of_the_column_decides(
    sql_type: str, value: Any, expected: Any, values_database: TestDatabase
) -> None:
    [found] = stored(values_database, sql_type, value)
    assert found == expected or (expected is None and str(found) == value)


REFUSED: Final = [
    ("timestamp", NOON.replace(tzinfo=EAST), "it has a zone"),
    ("timestamp", Instant(0, 0), "it has a zone"),
    ("time", dt.time(12, tzinfo=EAST), "it has a zone"),
    ("timestamptz", Instant(0, 1), "nanoseconds would be lost"),
    ("timestamp(3)", MICRO, "would be rounded"),
    ("timestamptz(0)[]", [MICRO], "would be rounded"),
    ("time(0)", dt.time(0, 0, 0, 1), "would be rounded"),
    ("interval(3)", dt.timedelta(microseconds=1), "would be rounded"),
    ("timestamp", "2024-01-01 12:00+02", "only datetimes fit"),
    ("timestamptz", dt.date(2024, 1, 1), "only datetimes fit"),
    ("date", NOON, "take its date"),
    ("date", "01/02/2024", "only dates fit"),
    ("time", NOON, "only times of day fit"),
    ("text", b"ab", "decode it first"),
    ("text", 7, "map it to text"),
    ("varchar(9)", ["a"], "map it to text"),
    ("inet", b"ab", "bytea only"),
    ("bytea", "ab", "encode it first"),
    ("numeric(10, 2)", Decimal("0.125"), "more than 2 decimal places"),
    ("numeric(10, 2)", 0.1 + 0.2, "more than 2 decimal places"),
    ("int", 1.5, "a fraction would be lost"),
    ("int", float("nan"), "a fraction would be lost"),
    ("int", True, "only numbers fit"),
    ("bigint", "7", "only numbers fit"),
    ("float8", 2**53 + 1, "digits would be lost"),
    ("float8", Decimal("0.1"), "digits would be lost"),
    ("bool", 1, "only True and False"),
    ("int[]", "ab", "only lists fit"),
    ("jsonb", {"at": NOON}, "JSON has no datetime"),
    ("jsonb", {"a": Decimal(1)}, "JSON has no Decimal"),
    ("jsonb", [{1: 2}], "the key 1 is not text"),
    ("jsonb", {None: 2}, "the key None is not text"),
    ("json", float("nan"), "not JSON compliant"),
]


@pytest.mark.parametrize(("sql_type", "value", "why"), REFUSED, ids=str)
def test_what_would_be_changed_is_refused(sql_type: str, value: Any, why: str, values_database: TestDatabase) -> None:
    good: Any = {"jsonb": [], "int[]": []}.get(sql_type)
    with pytest.raises(SinkError, match=why) as caught:
        stored(values_database, sql_type, good, good, value, good)
    told = str(caught.value)
    assert f"the row {{'n': 2, 'the column': {value!r}}} cannot be written" in told
    assert "column 'the column' is " in told


@pytest.mark.parametrize(
    ("sql_type", "value", "why"),
    [
        ("text", "\ud800", "surrogates not allowed"),
        ("text", "a\0b", "NUL"),
        ("jsonb", '{"a": 1', "invalid input syntax for type json"),
        ("varchar(2)", "abc, line 1: \nCOPY x, line 1", "too long"),
        ("smallint", 2**15, "out of range"),
    ],
)
@pytest.mark.parametrize("sink", [PostgresFlushingSink, PreparedPostgresSink])
def test_the_row_is_named_that_the_server_or_the_client_refuses(
    sink: Any, sql_type: str, value: Any, why: str, values_database: TestDatabase
) -> None:
    name = f"t{next(_NUMBERS)}"
    values_database.execute(f'CREATE TABLE {name} (n int, "the column" {sql_type})')
    own = sink(PostgresTable(values_database.url, name, ["n", "the column"]))
    own.prepare(JOB)
    writer, _ = open_sink(own, sink_context())
    with pytest.raises(SinkError, match=why) as caught:
        write_and_prepare(writer, [*enumerate([None] * 7), (7, value), (8, None)])
    writer.close()
    assert f"the row {{'n': 7, 'the column': {value!r}}} cannot be written" in str(caught.value)
    assert "column 'the column'" in str(caught.value)


def jdbc_sink(database: TestDatabase, statement: str) -> JdbcSink:
    connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    connection.with_url(f"jdbc:postgresql://127.0.0.1:{database.server.port}/{database.name}")
    options = connection.with_user_name("headgate").with_password(database.server.password).build()
    return JdbcSink.sink(statement, Types.ROW_NAMED(["n", "it"], [Types.INT(), Types.STRING()]), options)


def written_by_jdbc(database: TestDatabase, sql_type: str, *values: Any) -> list[Any]:
    name = f"t{next(_NUMBERS)}"
    database.execute(f"CREATE TABLE {name} (n int, it {sql_type})")
    sink = jdbc_sink(database, f"INSERT INTO {name} /* 100 % */ VALUES (?, ?)")
    sink.open(None)  # type: ignore[arg-type]
    try:
        for row in enumerate(values):
            sink.invoke(row, None)  # type: ignore[arg-type]
        sink.finish()
    finally:
        sink._rows = []
        sink.close()
    return [value for (value,) in database.execute(f"SELECT it FROM {name} ORDER BY n")]


@pytest.mark.parametrize(
    ("sql_type", "value", "expected"),
    [
        ("jsonb", [], []),
        ("timestamptz", NOON, NOON.replace(tzinfo=dt.UTC)),
        ("timestamptz", Instant(1, 0), dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)),
        ("numeric", 0.1 + 0.2, Decimal("0.30000000000000004")),
        ("text[]", [], []),
    ],
    ids=str,
)
def test_the_parameters_of_a_statement_have_types_too(
    sql_type: str, value: Any, expected: Any, values_database: TestDatabase
) -> None:
    assert written_by_jdbc(values_database, sql_type, None, value) == [None, expected]


@pytest.mark.parametrize(
    ("sql_type", "value", "why"),
    [
        ("timestamp", NOON.replace(tzinfo=EAST), "it has a zone"),
        ("text", b"ab", "decode it first"),
        ("smallint", 2**15, "out of range"),
        ("int CHECK (it > 0)", -1, "check constraint"),
        ("text", "\ud800", "surrogates not allowed"),
    ],
    ids=str,
)
def test_the_row_is_named_that_a_statement_fails_for(
    sql_type: str, value: Any, why: str, values_database: TestDatabase
) -> None:
    with pytest.raises(SinkError, match=why) as caught:
        written_by_jdbc(values_database, sql_type, *[None] * 7, value, None)
    assert f"the row {{'n': 7, 'it': {value!r}}} cannot be written" in str(caught.value)
    assert not isinstance(caught.value.__cause__, psycopg.OperationalError)
