"""Rows in Avro: types and values of a schema as Flink has them, and what cannot be is refused."""

from __future__ import annotations

import datetime
import importlib
import json
import pickle
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Row, Types
from headgate.connectors.formats.avro_rows import AvroRows
from headgate.datastream.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from headgate.errors import EnvironmentFault, ProgramError

PAIR = """{"type": "record", "name": "TestRecord", "fields": [
    {"name": "id", "type": "int"}, {"name": "name", "type": "string"}]}"""

EVERY: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Every",
    "namespace": "shop",
    "fields": [
        {"name": "flag", "type": "boolean"},
        {"name": "count", "type": "long"},
        {"name": "rate", "type": "float"},
        {"name": "share", "type": "double"},
        {"name": "blob", "type": "bytes"},
        {"name": "half", "type": {"type": "fixed", "name": "Half", "size": 2}},
        {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "at_micros", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "tags", "type": {"type": "map", "values": ["null", "int"]}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]},
            },
        },
        {"name": "first", "type": ["null", "Line"]},
        {"name": "times", "type": {"type": "array", "items": {"type": "long", "logicalType": "timestamp-millis"}}},
        {"name": "any", "type": ["int", "string"]},
        {"name": "nothing", "type": "null"},
    ],
}
TEXT = json.dumps(EVERY)
NAMES = [str(field["name"]) for field in EVERY["fields"]]
AT = datetime.datetime(2024, 2, 29, 12, 0, 1, 500_000)
LINE = Row("sku")("a-1")
ROW = Row(*NAMES)(
    *(True, -7, 0.5, 0.1, b"\x00\xff", b"ab", "BLUE", datetime.date(2024, 2, 29), datetime.time(1, 2, 3), AT, None),
    *(Decimal("12.30"), "0d6c6b9e-2f5d-4f0e-8b8a-0123456789ab", {"x": 1, "y": None}, [LINE, Row("sku")("b")], LINE),
    *([AT], "text", None),
)


def written(text: str, *records: Any) -> list[bytes]:
    return AvroRowSerializationSchema(avro_schema_string=text).serialize_all(list(records))


def test_what_is_written_is_read_again_with_the_names_of_the_schema() -> None:
    other = Row(*NAMES)(*ROW)
    other["at_micros"], other["first"] = AT.replace(microsecond=123_456), None
    messages = written(TEXT, ROW, other)
    read = AvroRowDeserializationSchema(avro_schema_string=TEXT).deserialize_all(messages)
    assert read == [ROW, other]
    assert read[0].at == AT
    assert read[0].lines[0].sku == "a-1"


def test_rows_have_the_types_that_flink_gives_the_schema() -> None:
    line = Types.ROW_NAMED(["sku"], [Types.STRING()])
    data, time = Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.SQL_TIMESTAMP()
    assert AvroRows(AvroSchema(TEXT)).type_info() == Types.ROW_NAMED(
        NAMES,
        [
            *(Types.BOOLEAN(), Types.LONG(), Types.FLOAT(), Types.DOUBLE(), data, data, Types.STRING()),
            *(Types.SQL_DATE(), Types.SQL_TIME(), time, time, Types.BIG_DEC(), Types.STRING()),
            *(Types.MAP(Types.STRING(), Types.INT()), Types.OBJECT_ARRAY(line), line, Types.OBJECT_ARRAY(time)),
            *(Types.PICKLED_BYTE_ARRAY(), Types.SQL_NULL()),
        ],
    )


@pytest.mark.parametrize("record", [(7, "Ada"), Row(7, "Ada"), Row(f0=7, f1="Ada"), {"name": "Ada", "id": 7}])
def test_records_are_written_by_name_else_by_position(record: Any) -> None:
    [message] = written(PAIR, record)
    assert message == bytes([14, 6]) + b"Ada"
    assert AvroRowDeserializationSchema(avro_schema_string=PAIR).deserialize(message) == Row("id", "name")(7, "Ada")


def test_a_time_with_a_zone_is_read_as_the_same_time_in_utc() -> None:
    text = (
        '{"type":"record","name":"R","fields":[{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}}]}'
    )
    zone = datetime.timezone(datetime.timedelta(hours=2))
    messages = written(text, (AT,), (AT.replace(tzinfo=zone),))
    read = AvroRowDeserializationSchema(avro_schema_string=text).deserialize_all(messages)
    assert [row.at for row in read] == [AT, AT - datetime.timedelta(hours=2)]


def test_a_record_or_a_message_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="3 fields instead of 2"):
        written(PAIR, (1, "a", 2))
    with pytest.raises((TypeError, ValueError)):
        written(PAIR, ("one", "a"))
    with pytest.raises(EOFError):
        AvroRowDeserializationSchema(avro_schema_string=PAIR).deserialize(b"\x0e\x06A")


def test_schemas_can_be_pickled() -> None:
    write = pickle.loads(pickle.dumps(AvroRowSerializationSchema(avro_schema_string=PAIR)))  # noqa: S301
    read = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=PAIR)))  # noqa: S301
    assert list(read.deserialize(write.serialize((7, "Ada")))) == [7, "Ada"]


@pytest.mark.parametrize("schema", [AvroRowDeserializationSchema, AvroRowSerializationSchema])
def test_what_has_no_rows_is_refused(schema: Any) -> None:
    with pytest.raises(TypeError, match="avro_schema_string"):
        schema()
    with pytest.raises(ProgramError, match=r"a Java class, 'shop\.Order'"):
        schema(record_class="shop.Order")
    with pytest.raises(ProgramError, match="of a record"):
        schema(avro_schema_string='"int"')
    with pytest.raises(ProgramError, match="not an Avro schema"):
        schema(avro_schema_string="{")
    tree = '{"type":"record","name":"T","fields":[{"name":"left","type":["null","T"]}]}'
    with pytest.raises(ProgramError, match="'T' of Avro holds itself"):
        schema(avro_schema_string=tree)


def test_a_schema_is_text_and_comes_from_a_text_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pair.avsc"
    file.write_text(PAIR)
    schema = AvroSchema.parse_file(str(file))
    assert schema == AvroSchema.parse_string(PAIR)
    assert str(schema) == json.dumps(json.loads(PAIR), separators=(",", ":"))
    with pytest.raises(ProgramError, match=r"missing\.avsc"):
        AvroSchema.parse_file(str(tmp_path / "missing.avsc"))
    with pytest.raises(ProgramError, match="UnknownType"):
        AvroSchema.parse_string('{"type": "record", "name": "R", "fields": [{"name": "a", "type": "b"}]}')


def test_the_type_of_dicts_is_that_of_any_object() -> None:
    assert GenericRecordAvroTypeInfo(AvroSchema(PAIR)) == Types.PICKLED_BYTE_ARRAY()
    with pytest.raises(ProgramError, match="AvroSchema"):
        GenericRecordAvroTypeInfo(PAIR)  # type: ignore[arg-type]


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    library = importlib.import_module("headgate.connectors.formats.avro_library")
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(EnvironmentFault, match=r"needs an extra: pip install 'headgate\[avro\]', in the driver and"):
        importlib.reload(library)


@pytest.mark.slow
def test_parquet_needs_no_extra() -> None:
    program = "import sys; sys.modules['fastavro'] = None; import headgate.datastream.formats.parquet"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
