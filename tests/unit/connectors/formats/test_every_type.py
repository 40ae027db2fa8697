"""Every kind of type in the formats of text: a value comes back, or is refused with the names of field and type."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.stream_format import StreamFormat
from headgate.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from headgate.errors import ProgramError
from headgate.types.row import make_row
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import Types
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


def test_what_has_no_form_is_refused_with_field_and_type() -> None:
    record_type, _ = rows(Types.LIST(ANYTHING), [])
    for build in (
        lambda: JsonRowSerializationSchema.builder().with_type_info(record_type).build(),
        lambda: JsonRowDeserializationSchema.builder().type_info(record_type).build(),
        lambda: StreamFormat.json_lines_format(rows(Types.MAP(Types.LONG(), Types.LONG()), [])[0]),
    ):
        with pytest.raises(ProgramError, match=r"field 'field(\[\])?' is a \w+TypeInfo"):
            build()
