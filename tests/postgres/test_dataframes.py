"""Tables of PostgreSQL as DataFrames."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headgate import dataframe as pf
from headgate.columns.logical_types import BIGINT, STRING
from headgate.columns.schema import Schema
from headgate.common import Configuration
from headgate.connectors.postgres.source import PostgresSource
from headgate.errors import JobFailedError, ProgramError, UnsupportedError
from headgate.table.table_environment import TableEnvironment
from headgate.testing.contracts.source import SOURCE_CHECKS, SourceCase
from tests.postgres.databases import TestDatabase

T = pf.DataType
COLUMNS = {
    "yes": (T.bool(), "boolean"),
    "small": (T.int16(), "smallint"),
    "n": (T.int64(), "bigint"),
    "f": (T.float32(), "real"),
    "x": (T.float64(), "double precision"),
    "d": (T.decimal(20, 2), "numeric(20, 2)"),
    "s": (T.string(), "text"),
    "b": (T.binary(), "bytea"),
    "day": (T.date(), "date"),
    "hour": (T.time(6), "time"),
    "at": (T.timestamp(6), "timestamp"),
    "moment": (T.timestamp_ltz(6), "timestamptz"),
    "tags": (T.list(T.string()), "text[]"),
    "m": (T.map(T.string().not_null(), T.int64()), "jsonb"),
    "r": (T.struct({"a": T.int64(), "s": T.string()}), "jsonb"),
}
TYPES = {name: own for name, (own, _) in COLUMNS.items()}
RECORD: dict[str, Any] = {
    "yes": False,
    "small": -(2**15),
    "n": 2**63 - 1,
    "f": 0.1,
    "x": float("-inf"),
    "d": Decimal("-123456789012345678.90"),
    "s": 'ü "\n,\\',
    "b": b"\x00\xff",
    "day": dt.date(1582, 1, 1),
    "hour": dt.time(23, 59, 59, 999),
    "at": dt.datetime(1969, 12, 31, 23, 59, 59, 450_000),
    "moment": dt.datetime(2024, 1, 1, 0, 0, 0, 5, tzinfo=dt.UTC),
    "tags": ["a", None, ""],
    "m": [("k", 1), ("l", None)],
    "r": {"a": None, "s": "z"},
}


@pytest.fixture(autouse=True)
def environment() -> Iterator[TableEnvironment]:
    settings = {"headgate.deploy.target": "minicluster", "table.local-time-zone": "UTC"}
    made = TableEnvironment.create(Configuration.from_dict(settings))
    pf.set_table_environment(made)
    yield made
    pf.set_table_environment(None)


def options(database: TestDatabase, table: str, **more: str) -> dict[str, str]:
    return {"url": f"jdbc:{database.url}", "table-name": table, **more}


def test_every_type_comes_back_or_is_refused_by_name(database: TestDatabase) -> None:
    database.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, (_, kind) in COLUMNS.items())})")
    schema = pa.schema([(name, own.logical_type.arrow) for name, own in TYPES.items()])
    frame = pf.from_arrow(pa.Table.from_pylist([RECORD, {}, {**RECORD, "s": "", "tags": []}], schema))
    frame.write_generic("jdbc", options=options(database, "t"))
    found = pf.read_generic("jdbc", schema=TYPES, options=options(database, "t"))
    assert found.collect() == frame.collect()
    assert found.select("n", "s").collect() == frame.select("n", "s").collect()
    with pytest.raises(ProgramError, match=r"'z'.*bytes within"):
        pf.read_generic("jdbc", schema={"z": T.list(T.binary())}, options=options(database, "t"))


def test_parts_of_a_partitioned_table_are_read_by_several_subtasks(
    database: TestDatabase, environment: TableEnvironment
) -> None:
    environment.get_config().set("parallelism.default", "2")
    database.execute(
        "CREATE TABLE t (n bigint, s text) PARTITION BY RANGE (n)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (5000)",
        "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (5000) TO (50000)",
        "INSERT INTO t SELECT n, repeat('x', 200) FROM generate_series(0, 19999) n",
        "DELETE FROM t WHERE n % 2 = 1",
    )
    found = pf.read_generic("jdbc", schema={"n": T.int32()}, options=options(database, "t")).filter("n % 4 = 0")
    assert sorted(row.n for row in found.collect()) == list(range(0, 20_000, 4))


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"s": T.int64()}, "column 's' has a value that is no BIGINT.*abc"),
        ({"n": T.int64().not_null()}, "'n' has NULL"),
        ({"z": T.int64()}, "cannot read table 't'.*\"z\""),
    ],
)
def test_a_column_that_does_not_fit_is_named(database: TestDatabase, schema: Any, says: str) -> None:
    database.execute("CREATE TABLE t (n bigint, s text)", "INSERT INTO t VALUES (NULL, 'abc')")
    with pytest.raises(JobFailedError, match=rf"(?s){says}"):
        pf.read_generic("jdbc", schema=schema, options=options(database, "t")).collect()


def test_what_is_no_table_of_postgresql_is_refused(database: TestDatabase) -> None:
    database.execute("CREATE VIEW v AS SELECT 1 AS n")
    with pytest.raises(JobFailedError, match=r"'v'.*no table.*from_spark"):
        pf.read_generic("jdbc", schema={"n": T.int64()}, options=options(database, "v")).collect()
    with pytest.raises(JobFailedError, match='"none"'):
        pf.read_generic("jdbc", schema={"n": T.int64()}, options=options(database, "none")).collect()
    with pytest.raises(UnsupportedError, match="jdbc:mysql"):
        pf.read_generic("jdbc", schema={"n": T.int64()}, options={"url": "jdbc:mysql://db/shop", "table-name": "t"})
    with pytest.raises(ValueError, match=r"scan\.partition\.column.*filter"):
        pf.read_generic(
            "jdbc", schema={"n": T.int64()}, options=options(database, "t", **{"scan.partition.column": "n"})
        )
    with pytest.raises(ValueError, match=r"sink\.max-retries.*exactly once"):
        pf.range(1).write_generic("jdbc", options=options(database, "t", **{"sink.max-retries": "1"}))


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_the_contract_of_sources(database: TestDatabase, check: Any) -> None:
    database.execute(
        "CREATE TABLE t (n bigint, s text)", "INSERT INTO t SELECT n, n::text FROM generate_series(0, 39) n"
    )
    source = PostgresSource(database.url, "t", Schema([("n", BIGINT), ("s", STRING)]))
    check(SourceCase(source=source, expected=[{"n": n, "s": str(n)} for n in range(40)], histories=5))
