"""Rows as CSV: what is read and written is what PyFlink reads and writes, one by one and in batches."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pytest

from headgate.common import Instant, Row, Types
from headgate.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from headgate.errors import ProgramError
from tests.unit.connectors.formats import asked
from tests.unit.connectors.formats.answers import ANSWERS, BROKEN, answer, made, shown

KINDS = asked.types(Types)
PAIR = Types.ROW([Types.INT(), Types.STRING()])


def reader(kind: Any, **settings: Any) -> CsvRowDeserializationSchema:
    schema: CsvRowDeserializationSchema = asked.configured(CsvRowDeserializationSchema.Builder(kind), settings)
    return schema


def writer(kind: Any, **settings: Any) -> CsvRowSerializationSchema:
    schema: CsvRowSerializationSchema = asked.configured(CsvRowSerializationSchema.Builder(kind), settings)
    return schema


@pytest.mark.parametrize("name", sorted(asked.CSV))
def test_fields_are_read_as_pyflink_reads_them(name: str) -> None:
    schema = reader(Types.ROW([KINDS[name], Types.INT()]))
    for text, expected in ANSWERS["read csv"][name]:
        assert (text, answer(schema.deserialize, f"{text},1".encode())) == (text, expected)
    good = [(f"{text},1".encode(), expected) for text, expected in ANSWERS["read csv"][name] if expected != BROKEN]
    assert shown(schema.deserialize_all([message for message, _ in good])) == [expected for _, expected in good]


@pytest.mark.parametrize("name", sorted(asked.OPTIONS))
def test_messages_are_read_as_pyflink_reads_them(name: str) -> None:
    schema = reader(PAIR, **asked.OPTIONS[name])
    for line, expected in ANSWERS["read csv"][name]:
        assert (line, answer(schema.deserialize, line.encode())) == (line, expected)
        in_batch = answer(schema.deserialize_all, [line.encode()])
        assert (line, in_batch) in ((line, [expected]), (line, BROKEN))


@pytest.mark.parametrize(("name", "value", "expected"), ANSWERS["written"]["csv"])
def test_values_are_written_as_pyflink_writes_them(name: str, value: Any, expected: str) -> None:
    assert writer(Types.ROW([KINDS[name]])).serialize(Row(made(name, value))).decode() == expected


@pytest.mark.parametrize("name", sorted(asked.WRITING))
def test_texts_are_quoted_as_pyflink_quotes_them(name: str) -> None:
    schema = writer(Types.ROW([Types.STRING(), Types.INT(), Types.BASIC_ARRAY(Types.STRING())]), **asked.WRITING[name])
    lines = schema.serialize_all([Row(text, None, ["x y", None]) for text, _ in ANSWERS["written"][name]])
    assert [line.decode() for line in lines] == [expected for _, expected in ANSWERS["written"][name]]


EVERY = Types.ROW_NAMED(
    list("abcdefghij"),
    [
        *(Types.LONG(), Types.DOUBLE(), Types.BOOLEAN(), Types.BIG_DEC(), Types.STRING(), Types.SQL_DATE()),
        *(Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.INSTANT(), Types.ROW_NAMED(["x"], [Types.INT()])),
    ],
)
VALUES = [
    *(-1, 0.25, False, Decimal("1.10"), 'a,"b"\n;', datetime.date(2024, 2, 29), datetime.time(1, 2, 3)),
    *(datetime.datetime(2024, 2, 29, 1, 2, 3, 450_000), Instant(1_700_000_000, 5_000_000), Row("x")(7)),
]


def test_what_is_written_is_read_again_with_the_names_of_the_type() -> None:
    row = Row(*EVERY.get_field_names())(*VALUES)
    empty = Row(*EVERY.get_field_names())(*[None] * 10)
    write = pickle.loads(pickle.dumps(writer(EVERY, set_null_literal="-")))  # noqa: S301
    read = pickle.loads(pickle.dumps(reader(EVERY, set_null_literal="-")))  # noqa: S301
    messages = write.serialize_all([row, empty, row])
    assert read.deserialize_all(messages) == [row, empty, row]
    assert [read.deserialize(message) for message in messages] == [row, empty, row]
    assert messages[1] == b"-,-,-,-,-,-,-,-,-,-\n"


def test_a_line_that_swallows_the_next_message_is_not_read_as_one() -> None:
    schema = reader(PAIR)
    with pytest.raises(ValueError, match="next message"):
        schema.deserialize_all([b'1,"a', b'2,b"'])


def test_an_element_that_would_be_read_as_two_is_refused() -> None:
    schema = writer(Types.ROW([Types.BASIC_ARRAY(Types.STRING())]))
    with pytest.raises(ValueError, match=r"field 'f0' cannot be \['a', 'b;c'\]: .* choose another delimiter"):
        schema.serialize((["a", "b;c"],))


def test_a_wrong_field_is_named() -> None:
    with pytest.raises(ValueError, match="field 'f0': 'x' is not an integer"):
        reader(PAIR).deserialize(b"x,a")


@pytest.mark.parametrize(
    "kind", [Types.LIST(Types.INT()), Types.MAP(Types.STRING(), Types.INT()), Types.PICKLED_BYTE_ARRAY(), KINDS["ROWS"]]
)
def test_a_type_that_no_field_has_is_refused_with_its_field(kind: Any) -> None:
    for builder in (CsvRowDeserializationSchema.Builder, CsvRowSerializationSchema.Builder):
        with pytest.raises(ProgramError, match="field 'f1'"):
            builder(Types.ROW([Types.INT(), kind]))


def test_the_builders_refuse_what_cannot_be() -> None:
    for builder in (CsvRowDeserializationSchema.Builder, CsvRowSerializationSchema.Builder):
        with pytest.raises(TypeError):
            builder(None)  # type: ignore[arg-type]
        with pytest.raises(ProgramError, match="the type of a row"):
            builder(Types.INT())
        with pytest.raises(ValueError, match="single character"):
            builder(PAIR).set_field_delimiter("||")
    with pytest.raises(ValueError, match="newline"):
        CsvRowSerializationSchema.Builder(PAIR).set_line_delimiter("|")
