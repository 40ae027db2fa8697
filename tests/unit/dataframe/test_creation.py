"""DataFrames of records, dicts, pandas and Arrow."""

from __future__ import annotations

import datetime as dt
from collections import namedtuple
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from headgate import dataframe as pf
from headgate.common import Row

Point = namedtuple("Point", ["x", "y"])  # as users write them


def rows(frame: pf.DataFrame) -> list[list[Any]]:
    return [list(row) for row in frame.collect()]


@pytest.mark.parametrize(
    ("data", "schema", "names", "expected"),
    [
        ([{"a": 1, "b": "x"}, {"b": None, "a": 2}], None, ["a", "b"], [[1, "x"], [2, None]]),
        ([{"a": 1, "b": 2, "c": 3}], ["c", "a"], ["c", "a"], [[3, 1]]),
        ([Point(1, 2), Point(3, 4)], None, ["x", "y"], [[1, 2], [3, 4]]),
        ([Point(1, 2)], ["y"], ["y"], [[2]]),
        ([(1, "a"), [2, "b"]], ["n", "s"], ["n", "s"], [[1, "a"], [2, "b"]]),
        ([(1, 2), Point(3, 4)], ["n", "m"], ["n", "m"], [[1, 2], [3, 4]]),
        ([Row(p=1, q=2)], None, ["p", "q"], [[1, 2]]),
    ],
)
def test_the_first_record_names_the_columns(
    data: list[Any], schema: list[str] | None, names: list[str], expected: list[list[Any]]
) -> None:
    frame = pf.from_records(data, schema)
    assert frame.columns == names
    assert rows(frame) == expected


@pytest.mark.parametrize(
    ("data", "schema", "error", "says"),
    [
        ([], None, ValueError, "at least one record"),
        ("ab", ["c"], TypeError, "str"),
        (b"ab", ["c"], TypeError, "bytes"),
        ([{"a": 1}, {"b": 1}], None, ValueError, "record 1"),
        ([{"a": 1}, {"a": 1, "b": 1}], None, ValueError, "record 1"),
        ([{"a": 1}, {"a": 1}, (1,)], None, TypeError, "record 2"),
        ([{"a": 1}], ["b"], ValueError, "record 0"),
        ([(1, 2)], None, ValueError, "schema"),
        ([(1, 2), (1,)], ["a", "b"], ValueError, "record 1"),
        ([(1,)], ("a",), TypeError, "list"),
        ([(1,)], [], ValueError, "no names"),
        ([(1,)], [""], ValueError, "empty"),
        ([(1, 2)], ["a", "a"], ValueError, "twice"),
        ([{"a": object()}], None, TypeError, "'a'"),
        ([{"a": 1}, {"a": "x"}], None, TypeError, "'a'"),
        ([{"a": 2**63}], None, TypeError, "'a'"),
    ],
)
def test_records_that_make_no_columns_are_refused(data: Any, schema: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        pf.from_records(data, schema)


def test_types_follow_from_the_values_and_values_come_back() -> None:
    at = dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC)
    record = {
        "yes": True,
        "n": 7,
        "x": 0.5,
        "s": "ü",
        "b": b"\x00",
        "d": Decimal("1.5"),
        "day": dt.date(1969, 12, 31),
        "hour": dt.time(1, 2, 3),
        "at": at,
        "list": [1, None],
        "map": {"k": 1},
        "row": Point(1, "a"),
    }
    frame = pf.from_records([record])
    assert [str(own.nulls()) for own in frame.schema.types] == [
        "BOOLEAN",
        "BIGINT",
        "DOUBLE",
        "STRING",
        "BYTES",
        "DECIMAL(38, 18)",
        "DATE",
        "TIME(6)",
        "TIMESTAMP_LTZ(6)",
        "ARRAY<BIGINT>",
        "MAP<STRING NOT NULL, BIGINT NOT NULL>",
        "ROW<`x` BIGINT NOT NULL, `y` STRING NOT NULL>",
    ]
    (found,) = frame.take(1)
    assert found == {**record, "row": Row(x=1, y="a")}


def test_columns_of_a_dict() -> None:
    frame = pf.from_dict({"a": [1, 2], "b": ["x", None], "c": [1]}, ["b", "a"])
    assert rows(frame) == [["x", 1], [None, 2]]
    for data, schema, error in [
        ({"a": [1], "b": [1, 2]}, None, ValueError),
        ({"a": []}, None, ValueError),
        ({"a": "text"}, None, TypeError),
        ({"a": 1}, None, TypeError),
        ({"a": [1]}, ["b"], ValueError),
        ([1], None, TypeError),
    ]:
        with pytest.raises(error):
            pf.from_dict(data, schema)  # type: ignore[arg-type]


def test_pandas_columns_keep_their_types_and_lose_the_index() -> None:
    pdf = pd.DataFrame({0: pd.array([1, 2], "int32"), b"x": ["a", None]}, index=[7, 8])
    frame = pf.from_pandas(pdf)
    assert str(frame.schema).splitlines()[1:] == ["  0  INT", "  x  STRING"]
    assert rows(frame) == [[1, "a"], [2, None]]
    assert pf.from_pandas(pdf, ["p", "q"]).columns == ["p", "q"]
    with pytest.raises(ValueError, match="1 names for 2 columns"):
        pf.from_pandas(pdf, ["p"])
    assert pf.from_pandas(pdf.iloc[:0]).collect() == []


def test_arrow_columns_keep_types_nullability_and_values() -> None:
    schema = pa.schema(
        [pa.field("n", pa.int8(), nullable=False), ("at", pa.timestamp("ms", "Asia/Tokyo")), ("d", pa.decimal128(5, 2))]
    )
    table = pa.table({"n": [1], "at": [0], "d": [Decimal("1.25")]}, schema)
    frame = pf.from_arrow(table)
    assert [str(own) for own in frame.schema.types] == ["TINYINT NOT NULL", "TIMESTAMP_LTZ(3)", "DECIMAL(5, 2)"]
    assert rows(frame) == [[1, dt.datetime(1970, 1, 1, tzinfo=dt.UTC), Decimal("1.25")]]
    assert pf.from_arrow(table.slice(0, 0)).collect() == []
    with pytest.raises(TypeError, match="'x'"):
        pf.from_arrow(pa.table({"x": pa.nulls(2)}))
    with pytest.raises(TypeError, match="list"):
        pf.from_arrow([1])


@pytest.mark.parametrize("arguments", [(5,), (2, 9), (9, 2, -3), (0,), (5, 5), (-3, 4, 2)])
def test_range_is_pythons_range(arguments: tuple[int, ...]) -> None:
    assert [row.id for row in pf.range(*arguments).collect()] == list(range(*arguments))


def test_range_has_a_column_of_64_bits_and_checks_its_arguments() -> None:
    assert str(pf.range(3).schema.type_of("id")) == "BIGINT NOT NULL"
    for arguments, error in [
        ((True,), TypeError),
        ((1.0,), TypeError),
        ((1, 5, 0), ValueError),
        ((2**63,), ValueError),
    ]:
        with pytest.raises(error):
            pf.range(*arguments)  # type: ignore[arg-type]


def test_the_parts_of_a_range_are_read_once_by_several_subtasks(environment: Any) -> None:
    environment.get_config().set("parallelism.default", "3")
    found = sorted(row.id for row in pf.range(-1000, 5000, 7).collect())
    assert found == list(range(-1000, 5000, 7))


@pytest.mark.parametrize("watermark", ["ts", ("ts",), ("ts", ""), ["ts", "ts"], ("ts", 5)])
def test_a_watermark_is_a_pair_of_texts(watermark: Any) -> None:
    with pytest.raises(TypeError, match="watermark"):
        pf.from_records([{"ts": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}], watermark=watermark)


def test_a_watermark_names_a_column_of_times() -> None:
    with pytest.raises(ValueError, match="'n'"):
        pf.from_records([{"n": 1}], watermark=("n", "n"))
    with pytest.raises(ValueError, match="'at'"):
        pf.from_records([{"n": 1}], watermark=("at", "at"))
    frame = pf.from_records(
        [{"at": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)}],
        watermark=("at", "at - INTERVAL '5' SECOND"),
    )
    assert str(frame.schema.type_of("at").nulls()) == "TIMESTAMP_LTZ(3)"
    assert rows(frame) == [[dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=dt.UTC)]]
