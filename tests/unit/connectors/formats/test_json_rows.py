"""Rows as JSON: what is read and written is what PyFlink reads and writes, one by one and in batches."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pytest

from headgate.common import Instant, Row, Types
from headgate.datastream.formats.csv import CsvRowSerializationSchema
from headgate.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from headgate.errors import ProgramError
from tests.unit.connectors.formats import asked
from tests.unit.connectors.formats.answers import ANSWERS, BROKEN, answer, made, shown

KINDS = asked.types(Types)
PAIR = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


def reader(kind: Any, *, ignore: bool = False) -> JsonRowDeserializationSchema:
    builder = JsonRowDeserializationSchema.builder().type_info(kind)
    return (builder.ignore_parse_errors() if ignore else builder).build()


def writer(kind: Any) -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema.builder().with_type_info(kind).build()


@pytest.mark.parametrize("name", sorted(KINDS))
def test_values_are_read_as_pyflink_reads_them(name: str) -> None:
    row = Types.ROW_NAMED(["a"], [KINDS[name]])
    strict, lenient = reader(row), reader(row, ignore=True)
    for text, expected, ignored in ANSWERS["read json"][name]:
        message = f'{{"a":{text}}}'.encode()
        assert (text, answer(strict.deserialize, message)) == (text, expected)
        assert (text, answer(strict.deserialize_all, [message])) == (text, [expected] if expected != BROKEN else BROKEN)
        assert (text, answer(lenient.deserialize, message)) == (text, ignored)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_batches_are_read_as_single_messages_are(name: str) -> None:
    row = Types.ROW_NAMED(["a"], [KINDS[name]])
    good = [case for case in ANSWERS["read json"][name] if case[1] != BROKEN]
    messages = [f'{{"a":{text}}}'.encode() for text, _, _ in good]
    assert shown(reader(row).deserialize_all(messages)) == [expected for _, expected, _ in good]
    every = ANSWERS["read json"][name]
    messages = [f'{{"a":{text}}}'.encode() for text, _, _ in every]
    assert shown(reader(row, ignore=True).deserialize_all(messages)) == [ignored for _, _, ignored in every]


@pytest.mark.parametrize(("name", "value", "expected"), ANSWERS["written"]["json"])
def test_values_are_written_as_pyflink_writes_them(name: str, value: Any, expected: str) -> None:
    schema = writer(Types.ROW_NAMED(["a"], [KINDS[name]]))
    assert schema.serialize(Row(made(name, value))).decode() == expected


NESTED = Types.ROW_NAMED(
    ["id", "at", "lines", "tags", "rate", "blob", "more"],
    [
        Types.LONG(),
        Types.SQL_TIMESTAMP(),
        Types.OBJECT_ARRAY(Types.ROW_NAMED(["sku", "price"], [Types.STRING(), Types.BIG_DEC()])),
        Types.MAP(Types.STRING(), Types.BOOLEAN()),
        Types.FLOAT(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.ROW_NAMED(["x"], [Types.SQL_TIME()]),
    ],
)


def order(number: int) -> Row:
    line = Row("sku", "price")('Zoë "%s"', Decimal("1.25"))
    at = datetime.datetime(2024, 2, 29, 12, 0, number)
    names = Row(*NESTED.get_field_names())
    return names(number, at, [line], {"new": True}, 0.5, b"\x00\xff", Row("x")(datetime.time(1, 2, 3)))


def test_what_is_written_is_read_again_with_the_names_of_the_type() -> None:
    orders = [order(1), order(2), Row(*NESTED.get_field_names())(3, None, None, None, None, None, None)]
    messages = writer(NESTED).serialize_all(orders)
    assert reader(NESTED).deserialize_all(messages) == orders
    assert messages[2] == b'{"id":3,"at":null,"lines":null,"tags":null,"rate":null,"blob":null,"more":null}'


@pytest.mark.parametrize(
    "record", [Row(name="Ada", id=7), Row(7, "Ada"), (7, "Ada"), {"name": "Ada", "id": 7}, Row(f0=7, f1="Ada")]
)
def test_records_are_written_by_name_else_by_position(record: Any) -> None:
    assert writer(PAIR).serialize(record) == b'{"id":7,"name":"Ada"}'


def test_a_record_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="3 fields instead of 2: id, name"):
        writer(PAIR).serialize((1, "a", 2))
    with pytest.raises(ValueError, match="field 'id' cannot be 'one'"):
        writer(PAIR).serialize_all([(1, "a"), ("one", "a")])
    with pytest.raises(ValueError, match="has a key 'nmae'; the fields are id, name"):
        writer(PAIR).serialize({"id": 1, "nmae": "a"})


WEST = datetime.timezone(datetime.timedelta(hours=-1))


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (Types.SQL_TIMESTAMP(), datetime.datetime(2024, 2, 29, tzinfo=WEST), "it has a zone"),
        (Types.SQL_TIME(), datetime.time(12, tzinfo=WEST), "it has a zone"),
        (Types.SQL_TIME(), datetime.time(12, 0, 0, 5), "it has a fraction of a second"),
        (Types.BIG_DEC(), Decimal("NaN"), "NaN is not a number"),
        (Types.BOOLEAN(), "x", "it is neither True nor False"),
        (Types.INSTANT(), Instant(10**15, 0), "."),
    ],
    ids=["timestamp", "time", "fraction", "NaN", "boolean", "instant"],
)
@pytest.mark.parametrize("schema", [JsonRowSerializationSchema, CsvRowSerializationSchema])
def test_what_would_be_written_as_another_value_is_refused_with_its_field(
    schema: Any, kind: Any, value: Any, reason: str
) -> None:
    types = Types.ROW_NAMED(["n", "field"], [Types.INT(), kind])
    built = writer(types) if schema is JsonRowSerializationSchema else CsvRowSerializationSchema.Builder(types).build()
    with pytest.raises(ValueError, match=f"field 'field' cannot be .*: .*{reason}"):
        built.serialize_all([(1, None), (2, value)])


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="half a character"):
        reader(PAIR).deserialize_all([b'{"name":"\\ud83d\\ude00"}', b'{"name":"\\ud800"}'])
    assert reader(PAIR).deserialize(b'{"name":"\\ud83d\\ude00"}').name == "\U0001f600"


def test_decimals_of_a_precision_lose_no_digits() -> None:
    schema = reader(Types.ROW_NAMED(["a"], [Types.SQL_DECIMAL(4, 2)]))
    assert str(schema.deserialize(b'{"a":1.5}').a) == "1.50"
    with pytest.raises(ValueError, match=r"field 'a': 1\.005 has more digits than a Decimal\(4, 2\)"):
        schema.deserialize(b'{"a":1.005}')


def test_a_wrong_field_is_named() -> None:
    inner = Types.ROW_NAMED(["pair"], [PAIR])
    with pytest.raises(ValueError, match="field 'pair': field 'id': 'x' is not an integer"):
        reader(inner).deserialize(b'{"pair":{"id":"x"}}')


def test_a_missing_field_is_none_or_an_error() -> None:
    assert reader(PAIR).deserialize_all([b'{"name":"Ada","more":1}']) == [Row("id", "name")(None, "Ada")]
    strict = JsonRowDeserializationSchema.builder().type_info(PAIR).fail_on_missing_field().build()
    assert strict.deserialize_all([b'{"id":1,"name":null}']) == [Row("id", "name")(1, None)]
    with pytest.raises(ValueError, match="there is no field 'id'"):
        strict.deserialize(b'{"name":"Ada"}')
    with pytest.raises(KeyError):
        strict.deserialize_all([b'{"name":"Ada"}'])


@pytest.mark.parametrize("message", [b"", b"[1]", b"{", b"7", b"{'id':1}", b'{"id":NaN}', b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_broken_or_left_out(message: bytes) -> None:
    assert answer(reader(PAIR).deserialize, message) == BROKEN
    assert reader(PAIR, ignore=True).deserialize(message) is None
    assert reader(PAIR, ignore=True).deserialize_all([message, b'{"id":1}']) == [None, Row("id", "name")(1, None)]


def test_null_is_no_record_and_what_follows_a_value_is_not_looked_at() -> None:
    assert reader(PAIR).deserialize_all([b"null", b' {"id":1} x']) == [None, Row("id", "name")(1, None)]


def test_schemas_can_be_pickled() -> None:
    [message] = pickle.loads(pickle.dumps(writer(NESTED))).serialize_all([order(1)])  # noqa: S301
    assert pickle.loads(pickle.dumps(reader(NESTED))).deserialize(message) == order(1)  # noqa: S301


def test_the_builders_refuse_what_cannot_be() -> None:
    with pytest.raises(ProgramError, match="not both"):
        JsonRowDeserializationSchema.builder().type_info(PAIR).fail_on_missing_field().ignore_parse_errors().build()
    with pytest.raises(ProgramError, match="the type of a row"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(ProgramError, match="the type of a row"):
        writer(Types.INT())
    with pytest.raises(TypeError, match="with_type_info"):
        JsonRowSerializationSchema.Builder().build()
    for build in (reader, writer):
        with pytest.raises(ProgramError, match="has no form in JSON"):
            build(Types.ROW([Types.PICKLED_BYTE_ARRAY()]))


def test_the_type_is_derived_from_a_json_schema() -> None:
    schema = """{"type": "object", "definitions": {"q": {"type": "number"}}, "properties": {
        "a": {"type": "integer"}, "b": {"type": ["null", "string"]}, "c": {"$ref": "#/definitions/q"},
        "d": {"type": "string", "format": "date"}, "e": {"type": "string", "format": "time"},
        "f": {"type": "string", "format": "date-time"}, "g": {"type": "string", "contentEncoding": "base64"},
        "h": {"type": "array", "items": {"type": "integer"}}, "i": {"type": "array", "items": {"type": "string"}},
        "j": {"oneOf": [{"type": "null"}, {"type": "boolean"}]}, "k": {"type": "string", "format": "uri"},
        "l": {"type": "object", "properties": {"x": {"type": "string"}}}}}"""
    expected = Types.ROW_NAMED(
        list("abcdefghijkl"),
        [
            *(Types.BIG_DEC(), Types.STRING(), Types.BIG_DEC()),
            *(Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.PRIMITIVE_ARRAY(Types.BYTE())),
            *(Types.OBJECT_ARRAY(Types.BIG_DEC()), Types.BASIC_ARRAY(Types.STRING()), Types.BOOLEAN(), Types.STRING()),
            Types.ROW_NAMED(["x"], [Types.STRING()]),
        ],
    )
    built = JsonRowDeserializationSchema.builder().json_schema(schema).build()
    message = b'{"a":1.50,"b":"x","d":"2024-02-29","h":[2],"j":true,"l":{"x":"y"}}'
    record = built.deserialize(message)
    assert record == reader(expected).deserialize(message)
    assert (record.a, record.h, record.l) == (Decimal("1.5"), [Decimal(2)], Row(x="y"))


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ('{"type": ["string", "integer"]}', "union"),
        ('{"anyOf": []}', "'anyOf'"),
        ('{"enum": ["x"]}', "no type"),
        ('{"type": "text"}', "'text'"),
        ('{"type": "array"}', "'items'"),
        ('{"type": "array", "items": [], "additionalItems": true}', "additional"),
        ('{"type": "string", "contentEncoding": "hex"}', "'hex'"),
        ('{"$ref": "#/x"}', "#/x"),
        ('{"$ref": "other.json"}', "other.json"),
    ],
)
def test_what_a_json_schema_cannot_say_is_refused_with_its_place(field: str, named: str) -> None:
    schema = f'{{"type": "object", "properties": {{"a": {field}}}}}'
    with pytest.raises(ProgramError, match=named):
        JsonRowDeserializationSchema.builder().json_schema(schema)
    with pytest.raises(ProgramError, match="not JSON"):
        JsonRowDeserializationSchema.builder().json_schema("{")
