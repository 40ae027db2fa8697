"""Parquet files and JSON lines, there and back."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate import dataframe as pf
from headgate.common import Row
from headgate.errors import JobFailedError

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
    "hour": T.time(3),
    "at": T.timestamp(3),
    "moment": T.timestamp_ltz(6),
    "tags": T.list(T.string()),
    "m": T.map(T.string().not_null(), T.int64()),
    "r": T.struct({"a": T.int64(), "t": T.timestamp(0)}),
}
RECORD: dict[str, Any] = {
    "yes": False,
    "tiny": -128,
    "n": 2**63 - 1,
    "f": 0.5,
    "x": -1e300,
    "d": Decimal("-12345678.90"),
    "s": 'ü "\n',
    "b": b"\x00\xff",
    "day": dt.date(1582, 1, 1),
    "hour": dt.time(23, 59, 59, 999_000),
    "at": dt.datetime(1969, 12, 31, 23, 59, 59, 450_000),
    "moment": dt.datetime(2024, 1, 1, 0, 0, 0, 5, tzinfo=dt.UTC),
    "tags": ["a", None, ""],
    "m": [("k", 1), ("l", None)],
    "r": {"a": None, "t": dt.datetime(2024, 1, 1)},
}


def everything() -> pf.DataFrame:
    schema = pa.schema([(name, own.logical_type.arrow) for name, own in TYPES.items()])
    return pf.from_arrow(pa.Table.from_pylist([RECORD, {}, {**RECORD, "s": "", "tags": [], "m": []}], schema))


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_every_type_comes_back(tmp_path: Path, kind: str) -> None:
    frame = everything()
    getattr(frame, f"write_{kind}")(str(tmp_path))
    found = getattr(pf, f"read_{kind}")(str(tmp_path), schema=TYPES)
    assert found.collect() == frame.collect()
    assert found.select("moment", "n").collect() == frame.select("moment", "n").collect()


def test_json_of_times_numbers_and_nulls(tmp_path: Path) -> None:
    frame = everything().select("at", "moment", "d", "b", "s").limit(1)
    for form, at, moment in [
        (None, "1969-12-31 23:59:59.45", "2024-01-01 00:00:00.000005Z"),
        ("ISO-8601", "1969-12-31T23:59:59.45", "2024-01-01T00:00:00.000005Z"),
    ]:
        folder = tmp_path / str(form)
        folder.mkdir()
        frame.write_json(str(folder), timestamp_format=form)
        (file,) = folder.glob("*.json")
        found = json.loads(file.read_text(), parse_float=Decimal)
        assert (found["at"], found["moment"], found["d"], found["b"]) == (at, moment, Decimal("-12345678.90"), "AP8=")
    nulls = tmp_path / "nulls"
    nulls.mkdir()
    pf.from_dict({"a": [1, None], "b": [None, "x"]}).write_json(str(nulls), ignore_null_fields=True)
    assert next(nulls.glob("*.json")).read_text() == '{"a":1}\n{"b":"x"}\n'


def test_json_has_all_digits_of_decimals_also_within_collections(tmp_path: Path) -> None:
    exact = Decimal("12345678901234567890.123456789012345678")
    kind = pa.decimal128(38, 18)
    schema = pa.schema(
        [("d", kind), ("l", pa.list_(kind)), ("m", pa.map_(pa.string(), kind)), ("r", pa.struct([("a", kind)]))]
    )
    row = {"d": exact, "l": [exact, None], "m": [("k", exact), ('"', None)], "r": {"a": exact}}
    pf.from_arrow(pa.Table.from_pylist([row, {}], schema)).write_json(str(tmp_path))
    lines = next(tmp_path.glob("*.json")).read_text().splitlines()
    assert json.loads(lines[0], parse_float=Decimal) == {
        "d": exact,
        "l": [exact, None],
        "m": {"k": exact, '"': None},
        "r": {"a": exact},
    }
    assert json.loads(lines[1]) == dict.fromkeys("dlmr")


BROKEN = """{"id": 1, "x": 2}

{"id": "z"}
{"id": 2, "x": "3.5", "s": 7, "more": []}
[1]
{"id": 3} {"id": 4}
{"id": 1e2, "s": {"k": 1.50}}
{"id": 5.5}
{"id": null}
{"id": 99999999999999999999}
not json
"""


def test_unusual_lines_are_read_one_by_one_and_broken_ones_left_out(tmp_path: Path) -> None:
    file = tmp_path / "lines.json"
    file.write_text(BROKEN)
    schema = {"id": T.int64(), "x": T.float64(), "s": T.string()}
    found = pf.read_json(str(file), schema=schema, ignore_parse_errors=True).collect()
    assert [list(row) for row in found] == [
        [1, 2.0, None],
        [2, 3.5, "7"],
        [100, None, '{"k": 1.5}'],
        [None, None, None],
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "z"}', "'id'"),
        ('{"id": true}', "'id'"),
        ('{"id": 1} {"id": 2}', "Extra data"),
        ("[1]", "no object"),
        ('{"id": 5.5}', "'id'"),
        ("\xff", "utf-8"),
    ],
)
def test_a_broken_line_fails_the_job_by_file_and_line(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "lines.json"
    file.write_bytes(b'{"id": 1}\n' + line.encode("latin-1") + b"\n")
    with pytest.raises(Exception, match=rf"(?s)lines\.json.*line 2.*{says}.*ignore_parse_errors=True"):
        pf.read_json(str(file), schema={"id": T.int64()}).collect()


def test_a_missing_field_is_null_or_an_error(tmp_path: Path) -> None:
    file = tmp_path / "lines.json"
    file.write_text('{"id": 1}\n{}\n')
    schema = {"id": T.int64()}
    assert pf.read_json(str(file), schema=schema).collect() == [Row(id=1), Row(id=None)]
    with pytest.raises(Exception, match="no field 'id'"):
        pf.read_json(str(file), schema=schema, fail_on_missing_field=True).collect()


def test_parquet_columns_are_cast_chosen_and_pruned(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"a": pa.array([1, 2], pa.int16()), "b": ["x", "y"], "c": [0.5, 1.5]}), tmp_path / "f.parquet"
    )
    schema = {"c": T.float64(), "a": T.int64()}
    frame = pf.read_parquet(str(tmp_path), schema=schema, computed_columns={"twice": "a * 2"})
    assert [list(row) for row in frame.collect()] == [[0.5, 1, 2], [1.5, 2, 4]]
    plan = frame.filter(pf.col("a") > 1).select("twice").explain()
    assert plan.count(f"Scan files {tmp_path} [a]") == 1
    with pytest.raises(Exception, match=r"(?s)f\.parquet.*'d'"):
        pf.read_parquet(str(tmp_path), schema={"d": T.int64()}).collect()


def test_event_time_of_files(tmp_path: Path) -> None:
    file = tmp_path / "lines.json"
    file.write_text('{"ms": 1500}\n{"ms": 2500}\n')
    frame = pf.read_json(
        str(file),
        schema={"ms": T.int64()},
        computed_columns={"ts": "TO_TIMESTAMP_LTZ(ms, 3)"},
        watermark=("ts", "ts - INTERVAL '1' SECOND"),
    )
    windows = frame.tumble(on="ts", size=dt.timedelta(seconds=1)).group_by("window_start", "window_end")
    assert [row.n for row in windows.agg(n=pf.lit(1).count).collect()] == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"path": 5}, TypeError),
        ({"path": " "}, ValueError),
        ({"schema": {}}, ValueError),
        ({"schema": [("a", T.int64())]}, TypeError),
        ({"schema": {"a": int}}, TypeError),
        ({"monitor_interval": 5}, TypeError),
        ({"monitor_interval": "soon"}, ValueError),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, error: type[Exception]) -> None:
    given = {"path": "/data", "schema": {"a": T.int64()}, **arguments}
    path = given.pop("path")
    with pytest.raises(error):
        pf.read_parquet(path, **given)


def test_wrong_arguments_of_writers_are_refused(tmp_path: Path) -> None:
    frame = pf.range(1)
    for wrong, error in [
        ({"mode": "overwrite"}, ValueError),
        ({"compression": "zip"}, ValueError),
        ({"compression": 5}, TypeError),
    ]:
        with pytest.raises(error):
            frame.write_parquet(str(tmp_path), **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timestamp_format"):
        frame.write_json(str(tmp_path), timestamp_format="iso")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", [b'{"s":"\xff"}', b'{"s":"\\ud800"}'])
def test_a_text_that_is_no_unicode_is_a_broken_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "texts.json"
    path.write_bytes(b'{"s":"a"}\n' + line + b"\n")
    schema = {"s": pf.DataType.string()}
    with pytest.raises(JobFailedError, match=r"texts\.json', line 2"):
        pf.read_json(str(path), schema=schema).collect()
    assert [row.s for row in pf.read_json(str(path), schema=schema, ignore_parse_errors=True).collect()] == ["a"]


def test_a_column_of_a_file_that_does_not_fit_its_type_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [300, None], "s": ["x", "y"]}), tmp_path / "f.parquet")
    for schema, says in [
        ({"a": T.int8()}, "'a'.*300"),
        ({"s": T.int64()}, "'s'"),
        ({"a": T.int64().not_null()}, "'a' has NULL"),
    ]:
        with pytest.raises(Exception, match=says):
            pf.read_parquet(str(tmp_path), schema=schema).collect()


def test_a_line_of_json_without_a_field_that_is_not_null_is_broken(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n": 1}\n{"m": 2}\n{"n": null}\n')
    schema = {"n": T.int64().not_null()}
    with pytest.raises(JobFailedError, match=r"line 2 .*'n' is NULL, but is NOT NULL"):
        pf.read_json(str(tmp_path), schema=schema).collect()
    assert pf.read_json(str(tmp_path), schema=schema, ignore_parse_errors=True).collect() == [Row(n=1)]
