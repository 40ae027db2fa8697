"""Delta tables as DataFrames."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from headgate import dataframe as pf
from headgate.common import Configuration
from headgate.connectors.delta.source import DeltaSource
from headgate.errors import JobFailedError, ProgramError
from headgate.table.table_environment import TableEnvironment
from headgate.testing.contracts.source import SOURCE_CHECKS, SourceCase

T = pf.DataType
TYPES = {
    "yes": T.bool(),
    "tiny": T.int8(),
    "n": T.int64(),
    "f": T.float32(),
    "x": T.float64(),
    "d": T.decimal(10, 2),
    "s": T.string(),
    "b": T.binary(),
    "day": T.date(),
    "at": T.timestamp(6),
    "moment": T.timestamp_ltz(6),
    "tags": T.list(T.string()),
    "m": T.map(T.string().not_null(), T.int64()),
    "r": T.struct({"a": T.int64()}),
}
RECORD: dict[str, Any] = {
    "yes": False,
    "tiny": -128,
    "n": 2**63 - 1,
    "f": 0.5,
    "x": -1e300,
    "d": Decimal("-12345678.90"),
    "s": "ü",
    "b": b"\x00\xff",
    "day": dt.date(1582, 1, 1),
    "at": dt.datetime(1969, 12, 31, 23, 59, 59, 450_000),
    "moment": dt.datetime(2024, 1, 1, 0, 0, 0, 5, tzinfo=dt.UTC),
    "tags": ["a", None],
    "m": [("k", 1), ("l", None)],
    "r": {"a": None},
}


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    settings = {"headgate.deploy.target": "minicluster", "table.local-time-zone": "UTC"}
    pf.set_table_environment(TableEnvironment.create(Configuration.from_dict(settings)))
    yield
    pf.set_table_environment(None)


def delta(path: Path, schema: dict[str, pf.DataType], **options: str) -> pf.DataFrame:
    return pf.read_generic("delta", schema=schema, options={"table-path": str(path), **options})


def test_every_type_comes_back_or_is_refused_by_name(tmp_path: Path) -> None:
    schema = pa.schema([(name, own.logical_type.arrow) for name, own in TYPES.items()])
    frame = pf.from_arrow(pa.Table.from_pylist([RECORD, {}], schema))
    options = {"table-path": str(tmp_path / "t")}
    frame.write_generic("delta", options=options)
    assert delta(tmp_path / "t", TYPES).collect() == frame.collect()
    with pytest.raises(ProgramError, match="hour"):
        pf.from_dict({"hour": [dt.time(1)]}).write_generic("delta", options=options)


def test_partitions_versions_and_columns_that_were_added(tmp_path: Path) -> None:
    options = {"table-path": str(tmp_path), "partition-by": "city;day"}
    first = pf.from_dict({"n": [1, 2], "city": ["a b/%é", None], "day": [dt.date(2024, 1, 1), None]})
    first.write_generic("delta", options=options)
    assert DeltaTable(tmp_path).metadata().partition_columns == ["city", "day"]
    added = pa.table({"n": [3], "city": ["c"], "day": [dt.date(2024, 1, 2)], "x": [0.5]})
    write_deltalake(tmp_path, added, mode="append", schema_mode="merge", partition_by=["city", "day"])
    found = delta(tmp_path, {"x": T.float64(), "city": T.string(), "day": T.date(), "n": T.int32()})
    assert sorted((list(row) for row in found.collect()), key=str) == [
        [0.5, "c", dt.date(2024, 1, 2), 3],
        [None, "a b/%é", dt.date(2024, 1, 1), 1],
        [None, None, None, 2],
    ]
    cities = {row.city for row in found.select("city").collect()}
    assert cities == {None, "a b/%é", "c"}
    before = DeltaTable(tmp_path).version() - 1
    assert sorted(row.n for row in delta(tmp_path, {"n": T.int64()}, versionAsOf=str(before)).collect()) == [1, 2]
    with pytest.raises(JobFailedError, match="no column 'z'; it has 'n'"):
        delta(tmp_path, {"z": T.int64()}).collect()


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(JobFailedError, match="no Delta table"):
        delta(tmp_path / "none", {"n": T.int64()}).collect()
    for options, says in [
        ({"mode": "streaming"}, "from_spark"),
        ({"versionAsOf": "1", "timestampAsOf": "2024-01-01"}, "exclude"),
    ]:
        with pytest.raises(ValueError, match=says):
            delta(tmp_path, {"n": T.int64()}, **options)


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_the_contract_of_sources(tmp_path: Path, check: Any) -> None:
    for start in (0, 20):
        numbers = pa.table({"n": range(start, start + 20), "part": ["a"] * 20})
        write_deltalake(tmp_path, numbers, mode="append", partition_by=["part"])
    source = DeltaSource(str(tmp_path), ["part", "n"])
    read = [name for split in source.splits(1) for name in [split.rows.place.path]]
    starts = {path: pq.read_table(path).column("n")[0].as_py() for path in read}
    numbers_read = [n for path in read for n in range(starts[path], starts[path] + 20)]
    check(SourceCase(source=source, expected=[{"part": "a", "n": n} for n in numbers_read], histories=10))
