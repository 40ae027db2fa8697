"""Arrow and records: schemas both ways, batches both ways."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from headgate.errors import ProgramError, SerializationError
from headgate.types.arrow import arrow_schema, batch_from_rows, rows_from_batch, type_of_arrow, type_of_schema
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.typeinfo import RowTypeInfo, Types

FLAT = Types.ROW_NAMED(
    ["text", "flag", "small", "number", "real", "exact", "day", "clock", "moment", "blob"],
    [
        Types.STRING(), Types.BOOLEAN(), Types.SHORT(), Types.LONG(), Types.DOUBLE(), Types.BIG_DEC(),
        Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.PRIMITIVE_ARRAY(Types.BYTE()),
    ],
)  # fmt: skip


def test_a_flat_row_type_survives_the_way_to_arrow_and_back() -> None:
    assert type_of_schema(arrow_schema(FLAT)) == FLAT


def test_rows_survive_the_way_to_a_batch_and_back() -> None:
    values = (
        "a", True, 1, 2**40, 0.5, Decimal("1.500000000000000000"), dt.date(2020, 1, 2), dt.time(3, 4, 5),
        dt.datetime(2020, 1, 2, 3, 4, 5), b"\x00",
    )  # fmt: skip
    rows = [Row(*values), Row(*[None] * len(values))]
    back = rows_from_batch(batch_from_rows(rows, arrow_schema(FLAT)))
    assert [tuple(row) for row in back] == [tuple(row) for row in rows]
    assert back[0].text == "a"


@pytest.mark.parametrize("record", [Row(a=1, b="x"), Row(1, "x"), (1, "x"), [1, "x"], {"b": "x", "a": 1}])
def test_rows_tuples_lists_and_dicts_fill_the_same_columns(record: object) -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    assert batch_from_rows([record], schema).to_pylist() == [{"a": 1, "b": "x"}]


def test_a_named_row_is_read_by_name_also_in_another_order() -> None:
    schema = pa.schema([("b", pa.string()), ("a", pa.int64())])
    assert batch_from_rows([Row(a=1, b="x")], schema).to_pylist() == [{"b": "x", "a": 1}]


def test_plain_values_fill_a_single_column() -> None:
    schema = arrow_schema(Types.INT())
    assert batch_from_rows([1, None, 3], schema).to_pydict() == {"value": [1, None, 3]}


def test_no_records_make_an_empty_batch() -> None:
    assert batch_from_rows([], arrow_schema(FLAT)).num_rows == 0
    assert rows_from_batch(batch_from_rows([], arrow_schema(FLAT))) == []


def test_instants_become_timestamps_in_utc() -> None:
    batch = batch_from_rows([Instant(1, 500), None], arrow_schema(Types.INSTANT()))
    assert batch.column(0).cast(pa.int64()).to_pylist() == [1_000_000_500, None]


def test_instants_go_into_columns_of_any_unit_that_they_fit() -> None:
    micros = pa.schema([("at", pa.timestamp("us", tz="UTC"))])
    batch = batch_from_rows([Instant(1, 500_000), None], micros)
    assert batch.column(0).cast(pa.int64()).to_pylist() == [1_000_500, None]
    with pytest.raises(SerializationError, match=r"column 'at' has the type timestamp\[us.*would lose data"):
        batch_from_rows([Instant(1, 500)], micros)


def test_a_type_without_a_flat_column_is_named_with_its_field() -> None:
    nested = Types.ROW_NAMED(["id", "tags"], [Types.INT(), Types.LIST(Types.STRING())])
    with pytest.raises(ProgramError, match=r"field 'tags' is a ListTypeInfo<String>"):
        arrow_schema(nested)
    with pytest.raises(ProgramError, match=r"column 'tags' has the type list"):
        type_of_schema(pa.schema([("tags", pa.list_(pa.string()))]))


def test_types_of_spark_and_other_writers_are_understood() -> None:
    assert type_of_arrow(pa.timestamp("us", tz="UTC"), "t") == Types.SQL_TIMESTAMP()
    assert type_of_arrow(pa.dictionary(pa.int32(), pa.string()), "d") == Types.STRING()
    assert type_of_arrow(pa.decimal128(10, 2), "d") == Types.BIG_DEC()
    assert isinstance(type_of_schema(pa.schema([("u", pa.uint32())])), RowTypeInfo)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ((1,), r"does not have the 2 fields of the schema: a, b"),
        ((1, "x", 3), r"does not have the 2 fields"),
        ({"a": 1, "c": 2}, r"has the fields \['a', 'c'\]"),
        (("one", "x"), r"column 'a' has the type int64, but a record holds 'one' \(str\) there"),
        ((2**70, "x"), r"column 'a' .* holds 1180591620717411303424"),
    ],
)
def test_a_record_that_does_not_fit_is_shown(record: object, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        batch_from_rows([(1, "fine"), record], pa.schema([("a", pa.int64()), ("b", pa.string())]))
