"""Every kind of type in the formats of text: a value comes back, or is refused with the names of field and type."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.connectors.files.csv_lines import CsvOptions
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.formats.csv_files import CsvSchemaEncoder
from headgate.datastream.formats.csv import (
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from headgate.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from headgate.errors import ProgramError
from headgate.types.row import make_row
from headgate.types.sql_types import NullTypeInfo
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    Types,
)
from tests.unit.types.every_type import ANYTHING, EVERY, NULL

EACH = [pytest.param(kind, values, id=str(kind)) for kind, values in {**EVERY, NULL: [None]}.items()]


def rows(kind: TypeInformation, values: list[Any]) -> tuple[Any, list[Any]]:
    record_type = Types.ROW_NAMED(["field", "other"], [kind, Types.STRING()])
    return record_type, [make_row([value, "x"], ("field", "other")) for value in [*values, None, *values]]


@pytest.mark.parametrize(("kind", "values"), EACH)
def test_json_messages(kind: TypeInformation, values: list[Any]) -> None:
    record_type, records = rows(kind, values)
    messages = JsonRowSerializationSchema.builder().with_type_info(record_type).build().serialize_all(records)
    schema = JsonRowDeserializationSchema.builder().type_info(record_type).build()
    assert schema.deserialize_all(messages) == records
    assert list(map(schema.deserialize, messages)) == records


@pytest.mark.parametrize(("kind", "values"), EACH)
def test_lines_of_json(kind: TypeInformation, values: list[Any]) -> None:
    record_type, records = rows(kind, values)
    block = Encoder.json_lines_encoder().of_type(record_type).encode(records)
    decoder = StreamFormat.json_lines_format(record_type).decoder(b"")
    assert decoder.decode(block, True).records == records
    assert decoder.decode(b" " + block, True).records == records


NESTED_IN_CSV = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo, RowTypeInfo)
NO_CSV = (MapTypeInfo, TupleTypeInfo, NullTypeInfo)


@pytest.mark.parametrize(("kind", "values"), EACH)
def test_csv_messages(kind: TypeInformation, values: list[Any]) -> None:
    record_type, records = rows(kind, values)
    if isinstance(kind, (*NO_CSV, ListTypeInfo)):
        with pytest.raises(ProgramError, match="field 'field' cannot be a"):
            CsvRowSerializationSchema.Builder(record_type)
        return
    writing = CsvRowSerializationSchema.Builder(record_type).set_null_literal("-").set_array_element_delimiter("|")
    reading = CsvRowDeserializationSchema.Builder(record_type).set_null_literal("-").set_array_element_delimiter("|")
    records = writable(kind, records)
    messages, schema = writing.build().serialize_all(records), reading.build()
    assert schema.deserialize_all(messages) == records
    assert list(map(schema.deserialize, messages)) == records


def writable(kind: TypeInformation, records: list[Any]) -> list[Any]:
    """Return the records whose field is not None where it is an array: the text for None is an array of one None."""
    return [record for record in records if record[0] is not None or not isinstance(kind, NESTED_IN_CSV)]


@pytest.mark.parametrize(("kind", "values"), EACH)
def test_files_of_csv_by_a_schema(kind: TypeInformation, values: list[Any]) -> None:
    records = writable(kind, rows(kind, values)[1])
    schema = CsvSchema.builder().add_number_column("field", kind).add_string_column("other")
    built = schema.set_null_value("-").set_array_element_separator("|").build()
    if isinstance(kind, NO_CSV):
        with pytest.raises(ProgramError, match="field 'field' cannot be a"):
            CsvReaderFormat.for_schema(built)
        return
    block = CsvSchemaEncoder(built).encode(records)
    assert CsvReaderFormat.for_schema(built).decoder(b"").decode(block, True).records == records


@pytest.mark.parametrize(("kind", "values"), EACH)
def test_files_of_csv(kind: TypeInformation, values: list[Any]) -> None:
    record_type, records = rows(kind, values)
    options = CsvOptions(types=record_type, null_value="-", multiline=True)
    encoder = Encoder.csv_encoder(["field", "other"], null_value="-")
    if isinstance(kind, (*NESTED_IN_CSV, *NO_CSV)) and kind != Types.PRIMITIVE_ARRAY(Types.BYTE()):
        with pytest.raises(ProgramError, match="field 'field' cannot be a"):
            StreamFormat.csv_format(options)
        return
    decoder = StreamFormat.csv_format(options).decoder(encoder.header())
    assert decoder.decode(encoder.encode(records), True).records == records
    for record in records:
        assert decoder.decode(encoder.encode([record]), True).records == [record]


def test_what_has_no_form_is_refused_with_field_and_type() -> None:
    record_type, _ = rows(Types.LIST(ANYTHING), [])
    for build in (
        lambda: JsonRowSerializationSchema.builder().with_type_info(record_type).build(),
        lambda: JsonRowDeserializationSchema.builder().type_info(record_type).build(),
        lambda: StreamFormat.json_lines_format(rows(Types.MAP(Types.LONG(), Types.LONG()), [])[0]),
    ):
        with pytest.raises(ProgramError, match=r"field 'field(\[\])?' is a \w+TypeInfo"):
            build()
