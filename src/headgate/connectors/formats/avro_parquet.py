"""Dicts of a schema of Avro in Parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import pyarrow as pa

from headgate.connectors.files.bulk_format import ParquetFormat, RecordFormat
from headgate.connectors.files.bulk_writer import BulkWriterFactory, ColumnWriterFactory, ParquetFile
from headgate.connectors.files.parquet_source import ParquetReader, RowGroupSplit
from headgate.connectors.files.places import FoundFile
from headgate.errors import ProgramError
from headgate.functions.source import Poll, Records, SourceContext, SourceReader

if TYPE_CHECKING:  # at run time it would need the extra for Avro, which Parquet does not need
    from headgate.connectors.formats.avro_schema import AvroSchema, Json

ARROW_OF_AVRO: Final[dict[str, pa.DataType]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
}


@final
class AvroParquetReaders:
    """Formats that read dicts of a schema of Avro from Parquet files, for `FileSource.for_record_stream_format()`."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> RecordFormat[RowGroupSplit]:
        """Return the format of a schema: its fields are read, as the columns of these names."""
        return AvroParquetFormat(schema)


@final
class AvroParquetWriters:
    """Writers of Parquet files whose columns are the fields of a schema of Avro."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Return the factory of files of a schema, whose records are dicts, or rows with the schema's names."""
        return ColumnWriterFactory(arrow_of_avro(schema), ParquetFile, ".parquet")


@final
class AvroParquetFormat(RecordFormat[RowGroupSplit]):
    """Parquet files, whose records are dicts."""

    def __init__(self, schema: AvroSchema) -> None:
        self._columns = arrow_of_avro(schema)
        self._parquet = ParquetFormat(self._columns.names)

    def cut(self, files: list[FoundFile], part_bytes: int) -> list[RowGroupSplit]:
        return self._parquet.cut(files, part_bytes)

    def reader(self, context: SourceContext) -> AvroParquetReader:
        return AvroParquetReader(self._parquet.reader(context))


@final
class AvroParquetReader(SourceReader[RowGroupSplit]):
    """Makes dicts of the batches that a reader of Parquet returns."""

    def __init__(self, parquet: ParquetReader) -> None:
        self._parquet = parquet

    def add_splits(self, splits: list[RowGroupSplit]) -> None:
        self._parquet.add_splits(splits)

    def poll(self, records_max: int) -> Poll:
        polled = self._parquet.poll(records_max)
        if not isinstance(polled, Records) or isinstance(polled.records, list):
            return polled
        return Records(polled.records.to_pylist(maps_as_pydicts="strict"), split=polled.split)

    def snapshot(self) -> list[RowGroupSplit]:
        return self._parquet.snapshot()

    def close(self) -> None:
        self._parquet.close()


def arrow_of_avro(schema: AvroSchema) -> pa.Schema:
    """Return the columns of a schema of Avro of a record.

    Raises ProgramError for another schema, or naming the field that no column can hold.

    >>> from headgate.connectors.formats.avro_schema import AvroSchema
    >>> text = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": ["null", "long"]}]}'
    >>> arrow_of_avro(AvroSchema(text)).field("id")
    pyarrow.Field<id: int64>
    """
    record = getattr(schema, "parsed", None)
    if not isinstance(record, dict) or record["type"] != "record":
        raise ProgramError(f"Parquet files need an AvroSchema of a record, not {str(schema)!r:.200}")
    return pa.schema(_Columns(schema).fields(record, "", frozenset()))


@final
class _Columns:
    """The columns of a schema. `path` says where a field is, `within` which records it is in."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def fields(self, record: Json, path: str, within: frozenset[str]) -> list[pa.Field]:
        if record["name"] in within:
            raise ProgramError(f"field {path!r} of Avro holds the record that it is in, which no column can")
        inner = within | {record["name"]}
        return [
            self._field(field["name"], field["type"], f"{path}.{field['name']}".lstrip("."), inner)
            for field in record["fields"]
        ]

    def _field(self, name: str, kind: Json, path: str, within: frozenset[str]) -> pa.Field:
        kind = self._schema.named(kind)
        if isinstance(kind, list):
            some = [branch for branch in kind if branch != "null"]
            if len(some) != 1:
                raise ProgramError(f"field {path!r} of Avro is one of {kind}, which no column can hold")
            return self._field(name, some[0], path, within).with_nullable(True)
        return pa.field(name, self._type(kind, path, within), nullable=kind == "null")

    def _type(self, kind: Json, path: str, within: frozenset[str]) -> pa.DataType:
        if isinstance(kind, str):
            return ARROW_OF_AVRO[kind]
        logical = kind.get("logicalType")
        if logical == "decimal":
            return pa.decimal128(kind["precision"], kind.get("scale", 0))
        match kind["type"]:
            case "record":
                # The writer takes the fields of a record that is None for fields that are None.
                return pa.struct([field.with_nullable(True) for field in self.fields(kind, path, within)])
            case "array":
                return pa.list_(self._field("item", kind["items"], f"{path}[]", within))
            case "map":
                return pa.map_(pa.string(), self._field("value", kind["values"], f"{path}[value]", within))
            case "fixed":
                return pa.binary(kind["size"])
        return ARROW_OF_AVRO.get(logical) or ARROW_OF_AVRO[kind["type"]]
