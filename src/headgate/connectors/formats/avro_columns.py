"""Avro files as columns: the schema of a file's records follows from the types of the columns.

As in Flink, a column that may have NULL is a union with null, small integers are `int`, and a map has texts as keys.
TIMESTAMP is `local-timestamp`, and TIMESTAMP_LTZ is `timestamp`; a TIMESTAMP is also read from a `timestamp`, as Flink
writes it by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, final

import pyarrow as pa

from headgate.columns.logical_types import Kind, LogicalType
from headgate.columns.schema import Schema
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.bulk_writer import BatchBulkWriter, BulkWriterFactory
from headgate.connectors.files.places import FoundFile
from headgate.connectors.formats.avro_files import AvroReader, AvroSplit
from headgate.connectors.formats.avro_library import Writer, parse_schema
from headgate.errors import ProgramError, SinkError, SourceError
from headgate.functions.source import Poll, Records, SourceContext, SourceReader

_SIMPLE: Final = {
    Kind.BOOLEAN: "boolean",
    **dict.fromkeys((Kind.TINYINT, Kind.SMALLINT, Kind.INT), "int"),
    Kind.BIGINT: "long",
    Kind.FLOAT: "float",
    Kind.DOUBLE: "double",
    **dict.fromkeys((Kind.CHAR, Kind.VARCHAR), "string"),
    **dict.fromkeys((Kind.BINARY, Kind.VARBINARY), "bytes"),
}
_TIMES: Final = {
    Kind.TIME: "time",
    Kind.TIMESTAMP: "local-timestamp",
    Kind.TIMESTAMP_LTZ: "timestamp",
}
_MILLIS: Final = 3
_MICROS: Final = 6
"""Digits after the second."""


def avro_schema(schema: Schema) -> dict[str, Any]:
    """Return the schema of records with these columns. Raises ProgramError naming a column that Avro cannot hold."""
    fields = [{"name": name, "type": _type(own, name, f"record_{name}")} for name, own in schema]
    return {"type": "record", "name": "record", "fields": fields}


def _type(kind: LogicalType, path: str, record: str) -> Any:
    own = _not_null(kind, path, record)
    return ["null", own] if kind.nullable else own


def _not_null(kind: LogicalType, path: str, record: str) -> Any:
    if kind.kind in _SIMPLE:
        return _SIMPLE[kind.kind]
    if kind.kind in _TIMES and kind.precision <= _MICROS:
        is_short = kind.precision <= _MILLIS
        stored = "int" if kind.kind is Kind.TIME and is_short else "long"
        return {"type": stored, "logicalType": f"{_TIMES[kind.kind]}-{'millis' if is_short else 'micros'}"}
    match kind.kind:
        case Kind.DATE:
            return {"type": "int", "logicalType": "date"}
        case Kind.DECIMAL:
            return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
        case Kind.ARRAY:
            return {"type": "array", "items": _type(kind.element, f"{path}[]", record)}
        case Kind.MAP if kind.key.is_text:
            return {"type": "map", "values": _type(kind.value, f"{path}[value]", record)}
        case Kind.ROW:
            fields = [(name, own, f"{path}.{name}", f"{record}_{name}") for name, own in kind.fields]
            typed = [{"name": name, "type": _type(own, inner, nested)} for name, own, inner, nested in fields]
            return {"type": "record", "name": record, "fields": typed}
    raise ProgramError(
        f"column {path!r} is {kind.nulls()}, which Avro does not have: Avro has times with up to {_MICROS} digits "
        "after the second, and maps whose keys are texts; cast the column first"
    )


@final
class AvroColumnsFormat(BulkFormat[AvroSplit]):
    """Avro files, read as record batches of the chosen columns."""

    def __init__(self, schema: Schema) -> None:
        avro_schema(schema)
        self._schema = schema

    def cut(self, files: list[FoundFile], part_bytes: int) -> list[AvroSplit]:
        return [AvroSplit(file.place, file.size_bytes, 0, file.stamp) for file in files]

    def reader(self, context: SourceContext) -> AvroColumnsReader:
        return AvroColumnsReader(self._schema)


@final
class AvroColumnsReader(SourceReader[AvroSplit]):
    """Makes record batches of the records of a file."""

    def __init__(self, schema: Schema) -> None:
        self._records = AvroReader(None)
        self._schema = schema

    def add_splits(self, splits: list[AvroSplit]) -> None:
        self._records.add_splits(splits)

    def poll(self, records_max: int) -> Poll:
        polled = self._records.poll(records_max)
        if not isinstance(polled, Records) or not polled.records:
            return polled
        columns = [self._column(polled, name, own) for name, own in self._schema]
        return Records(pa.RecordBatch.from_arrays(columns, schema=self._schema.arrow), split=polled.split)

    def _column(self, polled: Records, name: str, kind: LogicalType) -> pa.Array:
        try:
            made = pa.array(map(itemgetter(name), polled.records), kind.arrow)
        except KeyError:
            names = ", ".join(map(repr, polled.records[0]))
            raise SourceError(f"{polled.split}: there is no field {name!r}; there are {names}") from None
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise SourceError(f"{polled.split}: field {name!r} does not fit {kind}: {error}") from error
        if made.null_count and not kind.nullable:
            raise SourceError(f"{polled.split}: field {name!r} has NULL, but is NOT NULL in schema")
        return made

    def snapshot(self) -> list[AvroSplit]:
        return self._records.snapshot()

    def close(self) -> None:
        self._records.close()


@final
@dataclass(frozen=True, slots=True)
class AvroColumnsWriterFactory(BulkWriterFactory):
    """Makes writers of Avro files. Raises ProgramError for a codec or a type of a column that Avro does not have."""

    schema: Schema
    codec: str
    suffix: str = ".avro"

    def __post_init__(self) -> None:
        avro_schema(self.schema)
        try:
            self.create(pa.BufferOutputStream()).finish()
        except ValueError as error:  # there is no such codec, or its library is missing
            raise ProgramError(
                f"avro.codec {self.codec!r} cannot be used: {error}; 'deflate' is always there"
            ) from error

    def create(self, stream: pa.NativeFile) -> AvroColumnsWriter:
        return AvroColumnsWriter(self, stream)


@final
class AvroColumnsWriter(BatchBulkWriter):
    """Writes each row of a batch as a record."""

    def __init__(self, factory: AvroColumnsWriterFactory, stream: pa.NativeFile) -> None:
        super().__init__(factory.schema.arrow)
        self._writer = Writer(stream, parse_schema(avro_schema(factory.schema)), codec=factory.codec)

    def write_columns(self, columns: pa.RecordBatch) -> None:
        try:
            for datum in columns.to_pylist(maps_as_pydicts="strict"):
                self._writer.write(datum)
        except (pa.ArrowException, ValueError, KeyError, OverflowError) as error:
            raise SinkError(f"rows cannot be written as Avro: {error}") from error

    def finish(self) -> None:
        """Write the last block."""
        self._writer.flush()
