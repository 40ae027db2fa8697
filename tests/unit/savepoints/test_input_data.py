"""Incoming data: columns of any type that fits become the objects that a program would have put there."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headgate.errors import ProgramError
from headgate.savepoints.column_values import conversion
from headgate.savepoints.input_data import InputColumns, given, given_values
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.typeinfo import TypeInformation, Types

MAPS = pa.map_(pa.string(), pa.struct({"a": pa.int64(), "b": pa.string()}))
ROW = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])


@pytest.mark.parametrize(
    ("declared", "column", "value"),
    [
        (Types.LONG(), pa.array([7], pa.int16()), 7),
        (Types.LONG(), pa.nulls(1), None),
        (Types.DOUBLE(), pa.array([7], pa.int64()), 7.0),
        (Types.STRING(), pa.array(["a"], pa.large_string()), "a"),
        (Types.STRING(), pa.array(["a"]).dictionary_encode(), "a"),
        (Types.BIG_INT(), pa.array([7], pa.decimal128(20, 0)), 7),
        (Types.BIG_DEC(), pa.array([Decimal("1.50")], pa.decimal128(10, 2)), Decimal("1.50")),
        (Types.SQL_DATE(), pa.array([dt.date(2024, 2, 29)]), dt.date(2024, 2, 29)),
        (Types.SQL_TIME(), pa.array([61_000_000], pa.int64()), dt.time(0, 1, 1)),
        (Types.SQL_TIME(), pa.array([dt.time(0, 1, 1)], pa.time64("us")), dt.time(0, 1, 1)),
        (Types.SQL_TIMESTAMP(), pa.array([1_500], pa.timestamp("ms")), dt.datetime(1970, 1, 1, 0, 0, 1, 500_000)),
        (Types.INSTANT(), pa.array([1_500], pa.timestamp("ms", tz="Asia/Tokyo")), Instant(1, 500_000_000)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), pa.array([b"a"]), b"a"),
        (Types.BASIC_ARRAY(Types.LONG()), pa.array([[1, None]]), [1, None]),
        (Types.MAP(Types.STRING(), ROW), pa.array([[("k", {"a": 1, "b": "x"})]], MAPS), {"k": Row(a=1, b="x")}),
        (Types.TUPLE([Types.LONG(), Types.STRING()]), pa.array([{"x": 1, "y": "b"}]), (1, "b")),
        (ROW, pa.array([{"b": "x", "a": 1}]), Row(a=1, b="x")),
        (Types.ROW([Types.LONG()]), pa.array([{"f0": 1}]), Row(1)),
        (Types.PICKLED_BYTE_ARRAY(), pa.array([{"f0": 1, "f1": "b"}]), (1, "b")),
        (Types.PICKLED_BYTE_ARRAY(), pa.array([{"id": [1.5]}]), Row(id=[1.5])),
        (Types.LIST(Types.PICKLED_BYTE_ARRAY()), pa.array([["a"]]), ["a"]),
    ],
    ids=str,
)
def test_a_column_becomes_what_the_state_holds(declared: TypeInformation, column: pa.Array, value: Any) -> None:
    convert = conversion(declared, column.type, "c")
    found = convert(column.to_pylist()[0])
    assert (type(found), found) == (type(value), value)
    assert convert(None) is None


@pytest.mark.parametrize(
    ("declared", "arrow"),
    [
        (Types.LONG(), pa.string()),
        (Types.LONG(), pa.float64()),
        (Types.STRING(), pa.binary()),
        (Types.BIG_INT(), pa.decimal128(10, 2)),
        (Types.SQL_TIMESTAMP(), pa.timestamp("us", tz="UTC")),
        (Types.INSTANT(), pa.timestamp("us")),
        (Types.LIST(Types.LONG()), pa.int64()),
        (Types.LIST(Types.LONG()), pa.list_(pa.string())),
        (ROW, pa.struct({"a": pa.int64()})),
        (Types.TUPLE([Types.LONG()]), pa.struct({"a": pa.int64(), "b": pa.int64()})),
        (Types.MAP(Types.STRING(), Types.LONG()), pa.list_(pa.int64())),
    ],
    ids=str,
)
def test_a_column_of_another_type_is_refused_by_name(declared: TypeInformation, arrow: pa.DataType) -> None:
    with pytest.raises(ProgramError, match="column 'total"):
        conversion(declared, arrow, "total")


READING = InputColumns(key="who", value="n", key_type=None, value_type=Types.LONG())


def test_pickles_beside_a_column_count_for_more() -> None:
    table = pa.table({"who": ["a", "b"], "n": [1, 2], "n_pickle": pa.array([None, pickle.dumps(2**70)], pa.binary())})
    assert list(given(table, READING)) == [("a", 1, None), ("b", 2**70, None)]


def test_times_of_last_access_come_along() -> None:
    assert list(given(pa.table({"who": ["a"], "n": [1], "last_access_ms": [5]}), READING)) == [("a", 1, 5)]


def test_data_may_be_pairs_or_a_dict_as_they_are() -> None:
    assert list(given({"a": 1}, READING)) == list(given(iter([("a", 1)]), READING)) == [("a", 1, None)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (7, "a int cannot be the data of a state"),
        ([1], "pairs of key and value, not 1"),
        (pa.table({"who": ["a"]}), "no column 'n'; they have: who"),
    ],
)
def test_data_of_another_form_are_refused(data: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        list(given(data, READING))


def test_elements_come_from_a_column_or_as_they_are() -> None:
    assert list(given_values(pa.table({"value": [1, 2]}), Types.LONG())) == list(given_values([1, 2], Types.LONG()))
    with pytest.raises(ProgramError, match="not a list of elements"):
        given_values("ab", Types.STRING())
