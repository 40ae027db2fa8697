"""Statistics of data files: readers that leave out files by them find all that they look for."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connectors.delta import DeltaSink
from tests.delta.tables import JOB, Driver, query
from tests.sample_size import sample_size

SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("text", pa.string()),
        ("day", pa.date32()),
        ("instant", pa.timestamp("us", tz="UTC")),
        ("double", pa.float64()),
    ]
)
INSTANTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1), timezones=st.just(datetime.UTC))
RECORDS = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=50),
    st.none() | st.dates(datetime.date(1900, 1, 1), datetime.date(2200, 1, 1)),
    st.none() | INSTANTS,
    st.none() | st.floats(allow_nan=False),
)


def statistics(sink: DeltaSink, records: list[Any]) -> dict[str, Any]:
    [file] = Driver(sink=sink).prepared(1, records)
    return json.loads(file.statistics)  # type: ignore[no-any-return]


def test_statistics_are_counts_and_bounds(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path, SCHEMA)
    sink.prepare(JOB)
    at = datetime.datetime(2024, 2, 29, 12, 30, 1, 123457, datetime.UTC)
    low, high = (3, "a" * 40, at.date(), at, 1.5), (7, "b" * 40, at.date(), at, float("nan"))
    assert statistics(sink, [high, low, (None,) * 5]) == {
        "numRecords": 3,
        "minValues": {
            "number": 3,
            "text": "a" * 32,
            "day": "2024-02-29",
            "instant": "2024-02-29T12:30:01.123Z",
        },
        "maxValues": {
            "number": 7,
            "text": "b" * 32 + "\U0010ffff",
            "day": "2024-02-29",
            "instant": "2024-02-29T12:30:01.124Z",
        },
        "nullCount": {"number": 1, "text": 1, "day": 1, "instant": 1, "double": 1},
    }


def test_columns_of_nulls_and_times_that_no_calendar_has_are_without_bounds(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path, SCHEMA)
    sink.prepare(JOB)
    far = pa.array([2**62], pa.timestamp("us", tz="UTC"))
    columns = [pa.nulls(1, field.type) if field.name != "instant" else far for field in SCHEMA]
    found = statistics(sink, [pa.RecordBatch.from_arrays(columns, schema=SCHEMA)])
    assert (found["minValues"], found["maxValues"]) == ({}, {})
    assert found["nullCount"] == {"number": 1, "text": 1, "day": 1, "instant": 0, "double": 1}


def test_only_the_first_columns_have_statistics(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path, pa.schema([(f"c{place}", pa.int64()) for place in range(40)]))
    sink.prepare(JOB)
    assert len(statistics(sink, [tuple(range(40))])["nullCount"]) == 32


@pytest.mark.slow
@settings(max_examples=sample_size(40), deadline=None, database=None)
@given(st.lists(st.lists(RECORDS, min_size=1, max_size=3), min_size=1, max_size=3))
def test_what_is_looked_for_is_found(tmp_path_factory: pytest.TempPathFactory, files: list[list[Any]]) -> None:
    table = tmp_path_factory.mktemp("table")
    sink = DeltaSink(table, SCHEMA)
    sink.prepare(JOB)
    driver = Driver(sink=sink)
    driver.commit(1, [file for records in files for file in driver.prepared(1, records)])
    records = [record for each in files for record in each]
    for place, name in enumerate(SCHEMA.names):
        for value in {record[place] for record in records if record[place] is not None}:
            expected = sum(record[place] == value for record in records)
            assert query(table, f"SELECT count(*) AS n FROM t WHERE {name} = {literal(value)}") == [{"n": expected}]


def literal(value: Any) -> str:
    match value:
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime.datetime():
            return f"TIMESTAMP '{value.isoformat()}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case _:
            return f"CAST('{value}' AS BIGINT)"
