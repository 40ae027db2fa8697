"""Values of every type in files of columns and in Avro: each comes back, or is refused with record and field."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyarrow import orc

from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.formats.avro_files import AvroBulkWriters, AvroFormat
from headgate.connectors.formats.avro_messages import AvroRowDeserializationSchema, AvroRowSerializationSchema
from headgate.connectors.formats.avro_schema import AvroSchema
from headgate.connectors.formats.orc_files import OrcBulkWriters
from headgate.connectors.formats.parquet_files import ParquetBulkWriters
from headgate.datastream.connectors.file_system import FileSource
from headgate.errors import ProgramError, SinkError
from headgate.functions.source import Records
from headgate.testing.contracts.source import ReaderContext, open_reader, read_all
from headgate.types.arrow import rows_from_batch
from headgate.types.fold import NoForm, SequenceTypeInfo, TypeFold, fields_of
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import BasicType, Types
from tests.unit.types.every_type import EVERY, plain

EAST: Final = dt.timezone(dt.timedelta(hours=2))
NOON: Final = dt.datetime(2024, 1, 1, 12)
MICRO: Final = dt.datetime(2024, 1, 1, 12, 0, 0, 1)


@pytest.fixture(autouse=True)
def far_from_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the host be in another time zone."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def file_of(folder: Path, factory: BulkWriterFactory, *records: Any) -> Path:
    path = folder / f"file{factory.suffix}"
    with pa.OSFile(str(path), "wb") as stream:
        writer = factory.create(stream)
        writer.write(list(records))
        writer.finish()
    return path


@pytest.mark.parametrize("kind", EVERY, ids=str)
def test_values_come_back_from_parquet(kind: TypeInformation, tmp_path: Path) -> None:
    row_type = Types.ROW_NAMED(["c"], [kind])
    values = [None, *EVERY[kind]]
    path = file_of(tmp_path, ParquetBulkWriters.for_row_type(row_type), *(Row(c=value) for value in values))
    source = FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(path)).build()
    reader = open_reader(source, source.splits(1), ReaderContext())
    polled = reader.poll(100)
    reader.close()
    assert isinstance(polled, Records)
    assert [plain(row[0]) for row in rows_from_batch(polled.records)] == list(map(plain, values))


@pytest.mark.parametrize("kind", EVERY, ids=str)
def test_values_come_back_from_orc_or_their_type_is_refused(kind: TypeInformation, tmp_path: Path) -> None:
    values = [None, *EVERY[kind]]
    row_type = Types.ROW_NAMED(["c"], [kind])
    if _holds(kind, "Time", "Interval"):
        with pytest.raises(ProgramError, match=r"column 'c' has the type .*, which ORC does not have"):
            OrcBulkWriters.for_row_type(row_type)
        return
    path = file_of(tmp_path, OrcBulkWriters.for_row_type(row_type), *(Row(c=value) for value in values))
    table = orc.ORCFile(str(path)).read()
    [batch] = table.to_batches()
    assert [plain(row[0]) for row in rows_from_batch(batch)] == list(map(plain, values))


def _holds(kind: TypeInformation, *names: str) -> bool:
    words = str(kind).replace("<", " ").replace(">", " ").replace(",", " ").replace("(", " ").split()
    return any(name in words for name in names)


class _AvroSchemas(TypeFold[Any]):
    """The schemas of all types that Avro has one for; each may be null."""

    def string(self, type_info: Any) -> Any:
        return ["null", "string"]

    def boolean(self) -> Any:
        return ["null", "boolean"]

    def integer(self, type_info: Any) -> Any:
        if type_info.basic_type is BasicType.BIG_INT:
            return _logical("bytes", "decimal", precision=38, scale=0)
        return ["null", "long" if type_info.basic_type is BasicType.LONG else "int"]

    def floating(self, type_info: Any) -> Any:
        return ["null", "float" if type_info.basic_type is BasicType.FLOAT else "double"]

    def decimal(self, type_info: Any) -> Any:
        precision, scale = getattr(type_info, "precision", 38), getattr(type_info, "scale", 18)
        return _logical("bytes", "decimal", precision=precision, scale=scale)

    def instant(self) -> Any:
        return _logical("long", "timestamp-micros")

    def date(self) -> Any:
        return _logical("int", "date")

    def time(self) -> Any:
        return _logical("long", "time-micros")

    def timestamp(self) -> Any:
        return _logical("long", "local-timestamp-micros")

    def interval(self) -> Any:
        raise NoForm

    null = pickled = interval

    def binary(self) -> Any:
        return ["null", "bytes"]

    def sequence(self, type_info: SequenceTypeInfo, element: Any) -> Any:
        return ["null", {"type": "array", "items": element}]

    def mapping(self, type_info: Any, key: Any, value: Any) -> Any:
        return ["null", {"type": "map", "values": value}]

    def tuple(self, type_info: Any, fields: Sequence[Any]) -> Any:
        named = [{"name": name, "type": own} for (name, _), own in zip(fields_of(type_info), fields, strict=True)]
        return ["null", {"type": "record", "name": "Inner", "fields": named}]

    row = tuple


def _logical(kind: str, logical: str, **more: int) -> Any:
    return ["null", {"type": kind, "logicalType": logical, **more}]


AVRO: Final = _AvroSchemas()
OF_AVRO: Final = [kind for kind in EVERY if not _holds(kind, "Interval")]


def schema_of(field: Any) -> AvroSchema:
    return AvroSchema(json.dumps({"type": "record", "name": "R", "fields": [{"name": "c", "type": field}]}))


@pytest.mark.parametrize("kind", OF_AVRO, ids=str)
def test_values_come_back_from_messages_in_avro(kind: TypeInformation) -> None:
    schema = str(schema_of(AVRO.of(kind)))
    values = [None, *EVERY[kind]]
    messages = AvroRowSerializationSchema(avro_schema_string=schema).serialize_all([(value,) for value in values])
    rows = AvroRowDeserializationSchema(avro_schema_string=schema).deserialize_all(messages)
    assert [plain(row[0]) for row in rows] == [plain(_moments(value, with_zone=False)) for value in values]


@pytest.mark.parametrize("kind", [kind for kind in OF_AVRO if "Tuple" not in str(kind)], ids=str)
def test_values_come_back_from_files_of_avro(kind: TypeInformation, tmp_path: Path) -> None:
    schema = schema_of(AVRO.of(kind))
    values = [None, *EVERY[kind]]
    path = file_of(tmp_path, AvroBulkWriters.for_generic_record(schema), *(Row(c=value) for value in values))
    found = read_all(FileSource.for_bulk_file_format(AvroFormat(schema), str(path)).build())
    assert [record["c"] for record in found] == [_as_dict(_moments(value, with_zone=True)) for value in values]


def _moments(value: Any, *, with_zone: bool) -> Any:
    """Return a value with datetimes for instants."""
    match value:
        case Instant():
            made = dt.datetime.fromtimestamp(value.seconds, dt.UTC) + dt.timedelta(microseconds=value.nanos // 1000)
            return made if with_zone else made.replace(tzinfo=None)
        case Row():
            return Row(**{name: _moments(own, with_zone=with_zone) for name, own in value.as_dict().items()})
        case dict():
            return {key: _moments(own, with_zone=with_zone) for key, own in value.items()}
        case list() | tuple():
            return [_moments(own, with_zone=with_zone) for own in value]
    return value


def _as_dict(value: Any) -> Any:
    return value.as_dict() if isinstance(value, Row) else value


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("int", 2**31, "out of bounds|too large"),
        ("long", 1.5, "no fractions"),
        ("long", True, "got bool"),
        ("boolean", 1, "bool"),
        ("float", 1e300, "too large"),
        ("double", 2**53 + 1, "outside of the range"),
        ("string", b"ab", "decode"),
        ("bytes", "ab", "encode"),
        ("string", "\ud800", "surrogates not allowed"),
        ({"type": "array", "items": "int"}, b"12", "is an array"),
        ({"type": "map", "values": "int"}, [1], "is a map"),
        ({"type": "array", "items": "long"}, [1.5], r"'c\[\]'"),
        (_logical("long", "timestamp-millis"), MICRO, "would lose data"),
        (_logical("long", "timestamp-micros"), Instant(0, 1), "would lose data"),
        (_logical("long", "local-timestamp-micros"), NOON.replace(tzinfo=EAST), "with a zone"),
        (_logical("long", "local-timestamp-millis"), MICRO, "would lose data"),
        (_logical("int", "time-millis"), dt.time(0, 0, 0, 1), "would lose data"),
        (_logical("long", "time-micros"), dt.time(12, tzinfo=EAST), "with a zone"),
        (_logical("int", "date"), NOON, "take its date"),
        (_logical("int", "date"), "2024-01-01", "2024-01-01"),
        (_logical("bytes", "decimal", precision=5, scale=2), Decimal("0.125"), "[Ss]cale"),
    ],
    ids=str,
)
def test_what_avro_would_change_is_refused_with_the_record(field: Any, value: Any, why: str, tmp_path: Path) -> None:
    factory = AvroBulkWriters.for_generic_record(schema_of(["null", *field[1:]] if isinstance(field, list) else field))
    good = {"c": None} if isinstance(field, list) else None
    records = [{"c": value}] if good is None else [good, {"c": value}, good]
    with pytest.raises(SinkError, match=why) as caught:
        file_of(tmp_path, factory, *records)
    assert f"the record {{'c': {value!r}}} cannot be written as Avro" in str(caught.value)


@pytest.mark.parametrize("logical", ["timestamp-millis", "timestamp-micros"])
def test_a_time_without_a_zone_is_utc_in_avro(logical: str, tmp_path: Path) -> None:
    schema = schema_of({"type": "array", "items": _logical("long", logical)[1]})
    path = file_of(tmp_path, AvroBulkWriters.for_generic_record(schema), {"c": [NOON, NOON.replace(tzinfo=EAST)]})
    [found] = read_all(FileSource.for_bulk_file_format(AvroFormat(schema), str(path)).build())
    assert found == {"c": [NOON.replace(tzinfo=dt.UTC), NOON.replace(tzinfo=EAST)]}


def test_a_field_that_a_record_lacks_has_its_default(tmp_path: Path) -> None:
    fields = [{"name": "at", "type": _logical("long", "timestamp-micros")[1]}]
    fields.append({"name": "n", "type": "int", "default": 7})
    schema = AvroSchema(json.dumps({"type": "record", "name": "R", "fields": fields}))
    path = file_of(tmp_path, AvroBulkWriters.for_generic_record(schema), {"at": NOON})
    [found] = read_all(FileSource.for_bulk_file_format(AvroFormat(schema), str(path)).build())
    assert found == {"at": NOON.replace(tzinfo=dt.UTC), "n": 7}
