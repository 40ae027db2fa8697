"""Conversion: the values of a column as values of a declared type."""

import datetime as dt
import math
from array import array
from collections.abc import Sequence
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.types.conversion import UNFIT, conversion, culprit
from headgate.types.instant import Instant
from headgate.types.row import Row, RowKind, make_row
from headgate.types.typeinfo import TypeInformation, Types

AB = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
NOON = dt.datetime(2020, 1, 2, 12, 30, 5, 678901)


class Level(IntEnum):
    LOW = 1


class Colour(StrEnum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: str


def converted(type_info: TypeInformation, *values: Any) -> Sequence[Any]:
    """Return the values as those of the type."""
    convert = conversion(type_info)
    assert convert is not None
    return convert(list(values))


@pytest.mark.parametrize(
    ("type_info", "value", "expected"),
    [
        (Types.INT(), 1.9, 1),
        (Types.INT(), True, 1),
        (Types.LONG(), Decimal("-2.5"), -2),
        (Types.LONG(), Level.LOW, 1),
        (Types.LONG(), np.int32(5), 5),
        (Types.BIG_INT(), 2**80, 2**80),
        (Types.DOUBLE(), 3, 3.0),
        (Types.FLOAT(), 0.1, 0.10000000149011612),
        (Types.FLOAT(), 1e300, math.inf),
        (Types.BOOLEAN(), 2, True),
        (Types.BIG_DEC(), 1.5, Decimal("1.5")),
        (Types.BIG_DEC(), "7.10", Decimal("7.10")),
        (Types.STRING(), Colour.RED, "red"),
        (Types.SQL_DATE(), NOON, NOON.date()),
        (Types.SQL_TIME(), NOON, NOON.time()),
        (Types.SQL_TIMESTAMP(), NOON, NOON),
        (Types.INSTANT(), Instant(1, 5), Instant(1, 5)),
        (Types.LIST(Types.INT()), (1, 2.5), [1, 2]),
        (Types.PRIMITIVE_ARRAY(Types.INT()), array("i", [1, 2]), [1, 2]),
        (Types.OBJECT_ARRAY(Types.STRING()), ["a", None], ["a", None]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"ab"), b"ab"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1.0, "b": None}, {"a": 1, "b": None}),
        (Types.TUPLE([Types.INT(), Types.STRING()]), [1, "a"], (1, "a")),
        (Types.TUPLE([Types.INT(), Types.STRING()]), Row(1.0, "a"), (1, "a")),
        (Types.TUPLE([Types.INT(), Types.STRING()]), Pair(1, "a"), (1, "a")),
        (AB, (1, "x"), Row(a=1, b="x")),
        (AB, Row(1, "x"), Row(a=1, b="x")),
        (AB, Row(b="x", a=1.0, c=None), Row(a=1, b="x")),
        (AB, {"b": "x"}, Row(a=None, b="x")),
        (Types.LIST(AB), [(1, "x")], [Row(a=1, b="x")]),
        (Types.SQL_NULL(), None, None),
    ],
    ids=str,
)
def test_a_value_becomes_one_of_the_type(type_info: TypeInformation, value: Any, expected: Any) -> None:
    (result,) = converted(type_info, value)
    assert result == expected
    assert type(result) is type(expected)
    assert list(converted(type_info, None, value)) == [None, expected]


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.INT(), 2**31),
        (Types.BYTE(), -129),
        (Types.LONG(), math.nan),
        (Types.INT(), "1"),
        (Types.DOUBLE(), "1"),
        (Types.BIG_DEC(), "one"),
        (Types.STRING(), 1),
        (Types.STRING(), b"a"),
        (Types.SQL_DATE(), "2020-01-02"),
        (Types.SQL_TIMESTAMP(), dt.date(2020, 1, 2)),
        (Types.LIST(Types.INT()), "ab"),
        (Types.LIST(Types.INT()), {1, 2}),
        (Types.LIST(Types.INT()), [1, "a"]),
        (Types.MAP(Types.STRING(), Types.INT()), [("a", 1)]),
        (Types.TUPLE([Types.INT()]), (1, 2)),
        (Types.TUPLE([Types.INT()]), 1),
        (AB, Row(1)),
        (AB, Row(a=1)),
        (AB, 1),
        (Types.SQL_NULL(), 0),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_one_of_the_type_is_found(type_info: TypeInformation, value: Any) -> None:
    convert = conversion(type_info)
    assert convert is not None
    with pytest.raises(UNFIT):
        convert([None, value])
    index, error = culprit(convert, [None, value])
    assert index == 1
    assert str(error)


@pytest.mark.parametrize(
    ("type_info", "column"),
    [
        (Types.LONG(), [1, 2]),
        (Types.STRING(), ["a", None]),
        (Types.LIST(Types.DOUBLE()), [[1.0]]),
        (Types.TUPLE([Types.INT(), Types.STRING()]), [(1, "a")]),
        (AB, [make_row((1, "x"), ("a", "b"))]),
    ],
    ids=str,
)
def test_a_column_of_the_type_stays_the_same_object(type_info: TypeInformation, column: list[Any]) -> None:
    convert = conversion(type_info)
    assert convert is not None
    assert convert(column) is column


def test_rows_have_the_order_of_the_type_and_keep_their_kinds() -> None:
    first, second = converted(AB, Row.of_kind(RowKind.DELETE, b="x", a=1), Row(a=2, b="y"))
    assert (list(first), first.get_row_kind()) == ([1, "x"], RowKind.DELETE)
    assert (first.a, second.b) == (1, "y")


def test_any_object_is_of_a_type_of_any_object() -> None:
    assert conversion(Types.PICKLED_BYTE_ARRAY()) is None


@given(
    st.lists(st.one_of(st.none(), st.tuples(st.integers(-9, 9) | st.none() | st.floats(-9, 9), st.text(max_size=2))))
)
def test_a_column_is_converted_as_each_of_its_values_is(column: list[Any]) -> None:
    convert = conversion(AB)
    assert convert is not None
    assert list(convert(column)) == [convert([value])[0] for value in column]
