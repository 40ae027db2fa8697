"""Arrow and records: schemas both ways, batches both ways."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from headgate.elements import Batch
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


def test_a_fraction_does_not_go_into_a_column_of_integers() -> None:
    schema = pa.schema([("n", pa.int32())])
    assert batch_from_rows([2.0, None, 3], schema).to_pylist() == [{"n": 2}, {"n": None}, {"n": 3}]
    for fraction in (1.5, Decimal("1.5")):
        with pytest.raises(SerializationError, match=r"column 'n' has the type int32.* holds .*1\.5.*would lose data"):
            batch_from_rows([1, fraction], schema)


NESTED = Types.ROW_NAMED(
    ["name", "address", "scores"],
    [
        Types.STRING(),
        Types.ROW_NAMED(["city", "lines"], [Types.STRING(), Types.LIST(Types.STRING())]),
        Types.MAP(Types.STRING(), Types.LIST(Types.ROW_NAMED(["at", "won"], [Types.INSTANT(), Types.BOOLEAN()]))),
    ],
)


def named(names: str, *values: object) -> Row:
    row = Row(*values)
    row.set_field_names(names.split())
    return row


def test_rows_in_lists_in_maps_keep_their_names_and_their_nulls() -> None:
    game = named("at won", Instant(1, 500), True)
    rows = [
        named("name address scores", "a", named("city lines", "Bonn", ["x", None]), {"k": [game]}),
        named("name address scores", None, None, None),
        named("name address scores", "b", named("city lines", None, None), {"k": None, "l": [], "m": [None]}),
    ]  # fmt: skip
    batch = batch_from_rows(rows, arrow_schema(NESTED))
    assert rows_from_batch(batch) == rows
    assert rows_from_batch(batch.slice(1)) == rows[1:]
    assert rows_from_batch(batch)[0].scores["k"][0].won is True


def test_rows_within_rows_may_be_dicts_and_tuples() -> None:
    schema = pa.schema([("pair", pa.struct([("a", pa.int64()), ("b", pa.string())]))])
    batch = batch_from_rows([({"b": "x", "a": 1},), ((2, "y"),), (Row(3, "z"),)], schema)
    assert batch.column(0).to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}]


def test_a_type_that_no_column_holds_is_named_with_its_path() -> None:
    nested = Types.ROW_NAMED(
        ["id", "tags"], [Types.INT(), Types.LIST(Types.ROW_NAMED(["x"], [Types.PICKLED_BYTE_ARRAY()]))]
    )
    with pytest.raises(ProgramError, match=r"field 'tags\[\]\.x' is a PickledByteArrayTypeInfo"):
        arrow_schema(nested)
    with pytest.raises(ProgramError, match=r"column 'tags\[\]\.x' has the type month_day_nano_interval"):
        type_of_schema(pa.schema([("tags", pa.list_(pa.struct([("x", pa.month_day_nano_interval())])))]))
    with pytest.raises(ProgramError, match=r"two columns 'pair\.a'"):
        type_of_schema(pa.schema([("pair", pa.struct([("a", pa.int8()), ("a", pa.int8())]))]))


def test_types_of_spark_and_other_writers_are_understood() -> None:
    assert type_of_arrow(pa.timestamp("us", tz="UTC"), "t") == Types.INSTANT()
    assert type_of_arrow(pa.timestamp("us"), "t") == Types.SQL_TIMESTAMP()
    assert type_of_arrow(pa.dictionary(pa.int32(), pa.string()), "d") == Types.STRING()
    assert type_of_arrow(pa.decimal128(10, 2), "d") == Types.SQL_DECIMAL(10, 2)
    assert type_of_arrow(pa.large_list(pa.int8()), "l") == Types.LIST(Types.BYTE())
    assert isinstance(type_of_schema(pa.schema([("u", pa.uint32())])), RowTypeInfo)


def test_columns_of_other_writers_become_the_same_values() -> None:
    moment = dt.datetime(2020, 1, 2, 3, 4, 5)
    columns = {
        "nanos": pa.array([moment], pa.timestamp("ns")),
        "berlin": pa.array([moment], pa.timestamp("s", tz="Europe/Berlin")),
        "words": pa.array(["a"]).dictionary_encode(),
        "fixed": pa.array([[1, 2]], pa.list_(pa.int8(), 2)),
        "millis": pa.array([dt.date(2020, 1, 2)], pa.date64()),
        "length": pa.array([dt.timedelta(seconds=1)], pa.duration("s")),
        "whole": pa.array([7], pa.decimal128(38, 0)),
    }
    row = rows_from_batch(pa.RecordBatch.from_pydict(columns))[0]
    assert tuple(row) == (
        moment, Instant(1577934245, 0), "a", [1, 2], dt.date(2020, 1, 2), dt.timedelta(seconds=1), 7
    )  # fmt: skip
    assert type(row.nanos) is dt.datetime


def test_a_value_that_python_cannot_hold_is_named_with_its_column() -> None:
    with pytest.raises(SerializationError, match=r"column 'at', which is timestamp\[us\].*after the year 9999"):
        rows_from_batch(pa.RecordBatch.from_pydict({"at": pa.array([10**18], pa.timestamp("us"))}))
    with pytest.raises(SerializationError, match=r"column 'at', which is timestamp\[ns\].*would lose data"):
        rows_from_batch(pa.RecordBatch.from_pydict({"at": pa.array([1], pa.timestamp("ns"))}))


def test_a_batch_without_columns_has_rows_without_fields() -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert [tuple(row) for row in rows_from_batch(batch)] == [(), ()]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (("a", {"city": 7, "lines": []}, {}), r"column 'address\.city' has the type string.* holds 7 \(int\)"),
        (("a", ("Bonn", ["x", 7]), {}), r"column 'address\.lines\[\]' .* holds 7 .*; the record is \('a', \('Bonn'"),
        (("a", ("Bonn", "x"), {}), r"column 'address\.lines' holds lists, but a record holds 'x'"),
        (("a", ("Bonn",), {}), r"column 'address' has the fields 'city', 'lines', but a record holds \('Bonn',\)"),
        (("a", {"city": "Bonn"}, {}), r"column 'address': the record .* has the fields \['city'\]"),
        (("a", None, [1]), r"column 'scores' holds maps, but a record holds \[1\]"),
        (("a", None, {None: []}), r"column 'scores\[key\]' must not be null"),
        (("a", None, {"k": [(1.5, True)]}), r"column 'scores\[value\]\[\]\.at' .* holds 1\.5"),
    ],
)
def test_a_value_that_does_not_fit_within_a_column_is_shown_with_its_path(record: object, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        batch_from_rows([("fine", None, None), record], arrow_schema(NESTED))


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([pa.field("a", pa.int64(), nullable=False)]),
        pa.schema([pa.field("a", pa.struct([pa.field("b", pa.int64(), nullable=False)]))]),
    ],
)
def test_none_does_not_go_into_a_column_that_takes_no_null(schema: pa.Schema) -> None:
    record = (None,) if pa.types.is_integer(schema.field(0).type) else ((None,),)
    with pytest.raises(SerializationError, match=r"column 'a(\.b)?' must not be null.*the record is"):
        batch_from_rows([record], schema)


def test_an_instant_does_not_go_into_a_column_without_a_zone() -> None:
    with pytest.raises(SerializationError, match=r"column 'at' .* holds Instant<1, 0>.*a time with a zone"):
        batch_from_rows([Instant(1, 0)], pa.schema([("at", pa.timestamp("us"))]))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ((1,), r"does not have the 2 fields of the schema: 'a', 'b'"),
        ((1, "x", 3), r"does not have the 2 fields"),
        ({"a": 1, "c": 2}, r"has the fields \['a', 'c'\]"),
        (("one", "x"), r"column 'a' has the type int64, but a record holds 'one' \(str\) there"),
        ((2**70, "x"), r"column 'a' .* holds 1180591620717411303424"),
    ],
)
def test_a_record_that_does_not_fit_is_shown(record: object, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        batch_from_rows([(1, "fine"), record], pa.schema([("a", pa.int64()), ("b", pa.string())]))


def test_a_small_piece_of_a_batch_does_not_keep_the_whole_batch_in_memory() -> None:
    numbers = range(4_000)
    whole = pa.RecordBatch.from_pydict(
        {
            "n": pa.array(numbers),
            "text": pa.array([None if n % 3 else str(n) for n in numbers]),
            "row": pa.array([{"x": n, "list": [n] * (n % 4)} for n in numbers]),
            "word": pa.array(["a", "b"] * 2_000).dictionary_encode(),
            "nothing": pa.nulls(4_000),
            "flag": pa.array([n % 2 == 0 for n in numbers]),
        }
    )
    small, large = (Batch.of_arrow(whole).piece(start, 3_999) for start in (3_900, 100))
    assert small.columns is not None
    assert small.columns.equals(whole.slice(3_900, 99))
    assert small.columns.get_total_buffer_size() < whole.get_total_buffer_size() / 20
    assert large.columns is not None
    assert large.columns.column(0).buffers()[1].address == whole.column(0).buffers()[1].address  # not copied
