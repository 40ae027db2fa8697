"""Formats of messages as columns: every type there and back, and messages that are broken in every way."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.columns.schema import Schema
from headgate.connectors.formats.json_columns import JsonColumns
from headgate.connectors.formats.message_columns import MessageDecoder, MessageEncoder
from headgate.connectors.formats.message_formats import message_format
from headgate.dataframe import DataType as T

SCALARS = {
    "yes": T.bool(),
    "tiny": T.int8(),
    "small": T.int16(),
    "i": T.int32(),
    "n": T.int64(),
    "f": T.float32(),
    "x": T.float64(),
    "d": T.decimal(20, 3),
    "s": T.string(),
    "b": T.binary(),
    "day": T.date(),
    "hour": T.time(3),
    "at": T.timestamp(3),
    "moment": T.timestamp_ltz(3),
}
NESTED = {
    "tags": T.list(T.string()),
    "times": T.list(T.timestamp(3)),
    "m": T.map(T.string().not_null(), T.int64()),
    "r": T.struct({"a": T.int64(), "t": T.timestamp(3), "l": T.list(T.struct({"q": T.float64()}))}),
}
RECORD: dict[str, Any] = {
    "yes": False,
    "tiny": -128,
    "small": 32767,
    "i": -(2**31),
    "n": 2**63 - 1,
    "f": 0.5,
    "x": -1e300,
    "d": Decimal("-12345678901234567.890"),
    "s": "ü \"\n\\,;'",
    "b": b"\x00\xff\n",
    "day": dt.date(1582, 1, 1),
    "hour": dt.time(23, 59, 59, 999_000),
    "at": dt.datetime(1969, 12, 31, 23, 59, 59, 450_000),
    "moment": dt.datetime(2024, 1, 1, 0, 0, 0, 5_000, tzinfo=dt.UTC),
    "tags": ["a", None, "", 'q"'],
    "times": [dt.datetime(2024, 1, 1), None],
    "m": [("k", 1), ('l"', None)],
    "r": {"a": None, "t": dt.datetime(2024, 1, 1), "l": [{"q": 1.0}, None]},
}
ZEROS: dict[str, Any] = {
    "yes": True,
    "tiny": 0,
    "x": 3.0,
    "d": Decimal("0.000"),
    "s": "null",
    "tags": [],
    "times": [],
    "m": [],
    "r": {"a": 1, "t": None, "l": []},
}


def schema_of(types: dict[str, T]) -> Schema:
    return Schema((name, own.logical_type) for name, own in types.items())


def batch(schema: Schema, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema.arrow)


def decoder_of(name: str, schema: Schema, *columns: Schema, **options: str) -> MessageDecoder:
    own = {key.replace("_", "-"): value for key, value in options.items()}
    made = message_format(name, own).decoder(schema, *(columns or [schema]))
    restored: MessageDecoder = cloudpickle.loads(cloudpickle.dumps(made))
    return restored


def encoded(name: str, schema: Schema, columns: pa.RecordBatch, **options: str) -> list[Any]:
    made = message_format(name, options).encoder(schema, "t", is_key=False)
    restored: MessageEncoder = cloudpickle.loads(cloudpickle.dumps(made))
    return restored.encode(columns)


NULLS: dict[str, dict[str, str]] = {"json": {}, "avro": {}, "csv": {"null-literal": "NULL"}}
FORMATS = [("json", SCALARS | NESTED), ("csv", SCALARS), ("avro", SCALARS | NESTED)]


@pytest.mark.parametrize(("name", "types"), FORMATS)
@pytest.mark.parametrize("count", [1, 5, 300])
def test_every_type_comes_back(name: str, types: dict[str, T], count: int) -> None:
    schema = schema_of(types)
    rows = [{key: own[key] for key in types if key in own} for own in (RECORD, {}, ZEROS)]
    columns = batch(schema, [rows[number % 3] for number in range(count)])
    found = decoder_of(name, schema, **NULLS[name]).decode(encoded(name, schema, columns, **NULLS[name]))
    assert found.broken == {}
    found.columns.validate(full=True)
    assert found.columns.equals(columns)


@pytest.mark.parametrize(("name", "types"), FORMATS)
def test_some_columns_are_decoded_alone(name: str, types: dict[str, T]) -> None:
    schema = schema_of(types)
    columns = batch(schema, [{key: RECORD[key] for key in types}] * 3)
    messages = encoded(name, schema, columns)
    for chosen in (["n"], ["moment", "n"], ["s", "yes"]):
        found = decoder_of(name, schema, schema_of({key: types[key] for key in chosen})).decode(messages)
        assert found.columns.equals(columns.select(chosen))


def test_a_sliced_batch_is_written_as_its_rows() -> None:
    schema = schema_of(SCALARS | NESTED)
    columns = batch(schema, [ZEROS, RECORD, {}, RECORD]).slice(1, 2)
    found = decoder_of("json", schema).decode(encoded("json", schema, columns))
    assert found.columns.equals(columns)


def test_json_of_special_numbers_and_nulls() -> None:
    schema = schema_of({"x": T.float64(), "f": T.float32(), "s": T.string()})
    columns = batch(schema, [{"x": float("inf")}, {"x": 1e22, "f": 0.1, "s": "\x01é"}, {"x": 5.0}])
    assert encoded("json", schema, columns) == [
        b'{"x":Infinity,"f":null,"s":null}',
        '{"x":1e+22,"f":0.1,"s":"\\u0001é"}'.encode(),
        b'{"x":5.0,"f":null,"s":null}',
    ]
    short = encoded("json", schema, columns.slice(1), **{"encode.ignore-null-fields": "true"})
    assert [json.loads(own) for own in short] == [{"x": 1e22, "f": 0.1, "s": "\x01é"}, {"x": 5.0}]
    assert encoded("json", schema, batch(schema, [])) == []


BROKEN_JSON = [
    b"",
    b" ",
    b"null",
    b"[1]",
    b"7",
    b'{"id": 1} {"id": 2}',
    b'{"id": 1}{"id": 2}',
    b'{"id": 1}\n{"id": 2}',
    b'{"id": 1}null{"id": 2}',
    b'{"id": 1},{"id": 2}',
    b'{"id": ',
    b'{"id": {}',
    b'{"s": "}',
    b"1}",
    b'{"id": "z"}',
    b'{"id": true}',
    b'{"id": 5.5}',
    b'{"id": 99999999999999999999}',
    b'{"s": "\xff"}',
    b'{"s": "\\ud800"}',
    b'{"s": "a\nb"}',
    b"not json",
    b"\x00",
    b'{"id": 1}\x00',
]
GOOD_JSON: list[tuple[bytes, Any]] = [
    (b'{"id": 1, "s": "a"}', {"id": 1, "s": "a"}),
    (b' {"id" : 2}\r\n', {"id": 2, "s": None}),
    (b'{\n  "id": 3,\n  "s": "b"\n}', {"id": 3, "s": "b"}),
    (b"{}", {"id": None, "s": None}),
    (b'{"id": null, "more": [{"a": 1}]}', {"id": None, "s": None}),
    (b'{"id": 1e2, "s": 7}', {"id": 100, "s": "7"}),
    ('{"s": "ü\\n{}"}'.encode(), {"id": None, "s": "ü\n{}"}),
]
ID_AND_TEXT = schema_of({"id": T.int64(), "s": T.string()})


@pytest.mark.parametrize("message", BROKEN_JSON)
def test_a_broken_message_of_json_affects_no_other(message: bytes) -> None:
    good, value = GOOD_JSON[0]
    for before, after in ((0, 0), (1, 1), (100, 70)):
        found = decoder_of("json", ID_AND_TEXT).decode([good] * before + [message] + [good] * after)
        assert list(found.broken) == [before]
        assert found.broken[before]
        assert found.columns.to_pylist() == [value] * (before + after)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(
        st.one_of(
            st.sampled_from(GOOD_JSON),
            st.sampled_from(BROKEN_JSON).map(lambda own: (own, None)),
            st.binary(max_size=12).map(lambda own: (own, "any")),
        ),
        max_size=90,
    ),
    times=st.integers(1, 3),
)
def test_json_messages_are_rows_or_broken_one_by_one(parts: list[tuple[bytes, Any]], times: int) -> None:
    messages = [message for message, _ in parts] * times
    found = decoder_of("json", ID_AND_TEXT).decode(messages)
    alone = [decoder_of("json", ID_AND_TEXT).decode([message]) for message in messages]
    assert sorted(found.broken) == [place for place, own in enumerate(alone) if own.broken]
    assert found.columns.to_pylist() == [row for own in alone for row in own.columns.to_pylist()]
    for (_, value), own in zip(parts, alone, strict=False):
        if value != "any":
            assert own.columns.to_pylist() == ([] if value is None else [value])


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "n": st.none() | st.integers(-(2**63), 2**63 - 1),
                "x": st.none() | st.floats(allow_nan=False),
                "s": st.none() | st.text(st.characters(exclude_categories=["Cs"])),
                "b": st.none() | st.binary(),
                "d": st.none() | st.decimals(-(10**16), 10**16, places=3),
                "at": st.none() | st.datetimes(dt.datetime(1, 1, 1)).map(lambda own: own.replace(microsecond=0)),
                "tags": st.none() | st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))),
            }
        ),
        min_size=1,
        max_size=20,
    )
)
def test_random_rows_come_back_from_json(rows: list[dict[str, Any]]) -> None:
    types = {key: (SCALARS | NESTED)[key] for key in ("n", "x", "s", "b", "d", "at", "tags")}
    schema = schema_of(types)
    columns = batch(schema, rows)
    assert decoder_of("json", schema).decode(encoded("json", schema, columns)).columns.equals(columns)


@pytest.mark.parametrize(("form", "types"), [("SQL", SCALARS | NESTED), ("ISO-8601", SCALARS)])
def test_json_at_once_and_one_by_one_agree(form: str, types: dict[str, T]) -> None:
    schema = schema_of({key: own for key, own in types.items() if key not in ("b", "m")})
    columns = batch(schema, [{key: value for key, value in RECORD.items() if key in schema}, {}])
    lines = encoded("json", schema, columns, **{"timestamp-format.standard": form})
    made = JsonColumns(schema).at_once(b"\n".join(lines))
    assert made is not None, "the fast path reads these types"
    assert made.equals(decoder_of("json", schema)._each(lines, 0, {}))
    for broken in (b'{"at":"2024-01-01 00:00:00Z"}', b'{"moment":"2024-01-01 00:00:00+01:00"}'):
        found = decoder_of("json", schema).decode([*lines, broken])
        assert found.columns.slice(0, 2).equals(columns)


def test_a_missing_field_is_broken_where_that_is_asked_for() -> None:
    decoder = decoder_of("json", ID_AND_TEXT, fail_on_missing_field="true")
    found = decoder.decode([b'{"id": 1, "s": null}', b'{"id": 1}', b'{"id": 2, "s": "a"}'])
    assert found.broken == {1: "there is no field 's'"}
    assert found.columns.to_pylist() == [{"id": 1, "s": None}, {"id": 2, "s": "a"}]


def test_null_in_a_column_without_null_is_broken() -> None:
    found = decoder_of("json", schema_of({"id": T.int64().not_null()})).decode([b'{"id": 1}', b"{}"])
    assert list(found.broken) == [1]
    assert "'id' is NULL" in found.broken[1]


BROKEN_CSV = [b"", b"\n", b"1", b"1,a,b", b"x,a", b'1,"a', b"1,a\n2,b", b"1,\xff", b'1,"a"b', b"99999999999999999999,a"]
GOOD_CSV: list[tuple[bytes, Any]] = [
    (b"1,a", {"id": 1, "s": "a"}),
    (b"2,b\r\n", {"id": 2, "s": "b"}),
    (b'3,"a,""\nb"', {"id": 3, "s": 'a,"\nb'}),
    ("4,ü".encode(), {"id": 4, "s": "ü"}),
]
BROKEN_AVRO = [
    b"",
    b"\x02",
    b"\x02\x02",
    b"\x02\x02\x02\x02a!",
    b"\x07\x00",
    b"\x02\x02\x02\x02\xff",
    b"\x02\x02\x02\x7f",
]
GOOD_AVRO: list[tuple[bytes, Any]] = [
    (b"\x02\x02\x02\x02a", {"id": 1, "s": "a"}),
    (b"\x00\x00", {"id": None, "s": None}),
    (b"\x02\x0e\x02\x02\n", {"id": 7, "s": "\n"}),
]


@pytest.mark.parametrize(("name", "good", "broken"), [("csv", GOOD_CSV, BROKEN_CSV), ("avro", GOOD_AVRO, BROKEN_AVRO)])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_messages_of_other_formats_are_rows_or_broken_one_by_one(
    name: str, good: list[tuple[bytes, Any]], broken: list[bytes], data: st.DataObject
) -> None:
    message = st.sampled_from(good) | st.sampled_from(broken).map(lambda own: (own, None))
    parts = data.draw(st.lists(message, min_size=1, max_size=100))
    found = decoder_of(name, ID_AND_TEXT).decode([message for message, _ in parts])
    assert sorted(found.broken) == [place for place, (_, value) in enumerate(parts) if value is None]
    assert all(found.broken.values())
    assert found.columns.to_pylist() == [value for _, value in parts if value is not None]


def test_a_field_of_csv_that_does_not_fit_is_null_where_errors_are_ignored() -> None:
    found = decoder_of("csv", ID_AND_TEXT, ignore_parse_errors="true").decode([b"x,a", b"2", b'1,"a'])
    assert found.columns.to_pylist() == [{"id": None, "s": "a"}, {"id": 2, "s": None}]
    assert list(found.broken) == [2]


def test_csv_has_a_dialect() -> None:
    columns = batch(ID_AND_TEXT, [{"id": 1, "s": "a|'b'"}, {"id": None, "s": None}])
    dialect = {"field-delimiter": "|", "quote-character": "'", "null-literal": "-"}
    made = encoded("csv", ID_AND_TEXT, columns, **dialect)
    assert made == [b"1|'a|''b''\x27", b"-|-"]
    assert decoder_of("csv", ID_AND_TEXT, **dialect).decode(made).columns.equals(columns)


def test_raw_messages_are_the_column() -> None:
    text, blob = schema_of({"s": T.string()}), schema_of({"b": T.binary()})
    found = decoder_of("raw", text).decode(["ü\n".encode(), b"\xff", b""])
    assert (found.columns.to_pydict(), list(found.broken)) == ({"s": ["ü\n", ""]}, [1])
    assert decoder_of("raw", blob).decode([b"\xff"]).columns.to_pydict() == {"b": [b"\xff"]}
    assert encoded("raw", text, batch(text, [{"s": "ü"}, {}])) == ["ü".encode(), None]
    with pytest.raises(ValueError, match="raw"):
        decoder_of("raw", ID_AND_TEXT)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("xml", {}, "'xml'"),
        ("json", {"ignore-errors": "true"}, "'ignore-errors'"),
        ("json", {"ignore-parse-errors": "yes"}, "'yes'"),
        ("json", {"ignore-parse-errors": "true", "json.ignore-parse-errors": "false"}, "twice"),
        ("json", {"ignore-parse-errors": "true", "fail-on-missing-field": "true"}, "exclude"),
        ("json", {"timestamp-format.standard": "UNIX"}, "'UNIX'"),
        ("csv", {"field-delimiter": "||"}, "field-delimiter"),
        ("avro", {"encoding": "json"}, "'json'"),
        ("avro-confluent", {}, "'url'"),
    ],
)
def test_wrong_options_are_refused(name: str, options: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        message_format(name, options)


def test_json_without_nulls_has_an_object_for_a_row_without_values() -> None:
    schema = schema_of({"n": T.int64(), "s": T.string()})
    columns = batch(schema, [{}, {"s": "a"}, {"n": 1, "s": "b"}, {}])
    option = {"encode.ignore-null-fields": "true"}
    assert encoded("json", schema, columns, **option) == [b"{}", b'{"s":"a"}', b'{"n":1,"s":"b"}', b"{}"]
    one = schema_of({"n": T.int64()})
    assert encoded("json", one, batch(one, [{}, {"n": 1}]), **option) == [b"{}", b'{"n":1}']


@pytest.mark.parametrize("value", [b"5", b'"x"', b"[1]", b"true"])
@pytest.mark.parametrize("kind", [T.struct({"a": T.int64()}), T.map(T.string(), T.int64())])
def test_a_row_or_map_of_json_that_is_no_object_is_broken(kind: T, value: bytes) -> None:
    found = decoder_of("json", schema_of({"r": kind})).decode([b'{"r": {"a": 1}}', b'{"r": ' + value + b"}"])
    assert list(found.broken) == [1]
    assert "is an object" in found.broken[1]


@pytest.mark.parametrize("number", [b"1e999999999", b'"1e999999999"', b"-1E+999999999", b"0.1e999999999"])
@pytest.mark.parametrize("kind", [T.int64(), T.int8(), T.decimal(38, 0)])
def test_a_number_of_json_with_a_huge_exponent_is_broken_at_once(kind: T, number: bytes) -> None:
    found = decoder_of("json", schema_of({"n": kind})).decode([b'{"n": 1}', b'{"n": ' + number + b"}"])
    assert list(found.broken) == [1]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (T.timestamp(9), b"2024-01-01T12:00:00.123456789"),
        (T.timestamp_ltz(9), b"2024-01-01 12:00:00.123456789Z"),
        (T.timestamp(9), b"3000-01-01 12:00:00"),
        (T.timestamp(3), b"2024-01-01T12:00:00Z"),
        (T.timestamp(3), b"2024-01-01"),
        (T.timestamp(3), b"20240101T120000"),
        (T.date(), b"2024-2-3"),
        (T.date(), b"2024-02-03 10:00:00"),
        (T.time(3), b"10:00"),
    ],
)
def test_other_messages_do_not_change_how_a_time_of_json_is_read(kind: T, text: bytes) -> None:
    message, broken = b'{"t": "%s"}' % text, b"{"
    decoder = decoder_of("json", schema_of({"t": kind}))
    alone, beside = decoder.decode([message]), decoder.decode([message, broken])
    assert beside.columns.equals(alone.columns)
    assert {0: "", 1: ""}.keys() - beside.broken.keys() == {0} - alone.broken.keys()
    within = decoder_of("json", schema_of({"l": T.list(kind)}))
    within.decode([b'{"l": ["%s", null]}' % text, broken]).columns.validate(full=True)
