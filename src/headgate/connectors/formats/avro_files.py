"""Reads and writes dicts in Avro container files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BufferedReader
from typing import Any, Final, final

import pyarrow as pa

from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.bulk_writer import BulkWriter, BulkWriterFactory
from headgate.connectors.files.byte_stream import BLOCK_BYTES, where_it_is
from headgate.connectors.files.file_errors import unreadable
from headgate.connectors.files.places import FAILURES, FoundFile, Place, Stamp, name_of, restore_part
from headgate.connectors.files.source import FileSource, InputFormat
from headgate.connectors.formats.avro_library import Writer, block_reader
from headgate.connectors.formats.avro_schema import AvroSchema
from headgate.connectors.formats.avro_values import fitted_records
from headgate.errors import ProgramError, SinkError
from headgate.functions.source import END_OF_INPUT, Poll, Records, SourceContext, SourceReader
from headgate.types.records import as_dict
from headgate.types.typeinfo import PickledBytesTypeInfo, TypeInformation

_BROKEN: Final = (*FAILURES, ValueError, EOFError, IndexError, KeyError, TypeError)
"""Errors of fastavro for a file that is not an Avro file, or that has an incompatible schema."""


@final
class AvroBulkWriters:
    """Writers of Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Return the factory for Avro files. Records are dicts, or rows with the names of the schema."""
        return AvroWriterFactory(checked(schema))


@final
class AvroWriterFactory(BulkWriterFactory):
    """Makes writers of uncompressed Avro files."""

    suffix = ".avro"

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, stream: pa.NativeFile) -> AvroWriter:
        return AvroWriter(self._schema, stream)


@final
class AvroWriter(BulkWriter):
    """Writes an Avro file, in blocks."""

    def __init__(self, schema: AvroSchema, stream: pa.NativeFile) -> None:
        self._schema = schema
        self._writer = Writer(stream, schema.parsed)

    def write(self, records: list[Any]) -> None:
        try:
            datums = fitted_records(self._schema, records, as_dict)
        except ValueError as error:
            raise SinkError(str(error)) from error
        for record, datum in zip(records, datums, strict=True):
            try:
                self._writer.write(datum)
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                raise SinkError(
                    f"the record {record!r:.200} cannot be written as Avro: {error!r}; map it first"
                ) from error

    def finish(self) -> None:
        """Write the last block."""
        self._writer.flush()


@final
@dataclass(frozen=True, slots=True)
class AvroSplit:
    """The records of a file, from the record with index `start`. `size_bytes` is the size of the file."""

    place: Place
    size_bytes: int
    start: int
    stamp: Stamp | None = None

    def __setstate__(self, state: list[Any]) -> None:
        restore_part(self, state)

    @property
    def part(self) -> str:
        """Empty: a file is not cut."""
        return ""


@final
class AvroFormat(BulkFormat[AvroSplit]):
    """The format of Avro files. Records are dicts with a schema, which may differ from the schema in the file."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def cut(self, files: list[FoundFile], part_bytes: int) -> list[AvroSplit]:
        return [AvroSplit(file.place, file.size_bytes, 0, file.stamp) for file in files]

    def reader(self, context: SourceContext) -> AvroReader:
        return AvroReader(self._schema)


@final
class AvroReader(SourceReader[AvroSplit]):
    """Reads files one after the other, and one block at a time. Without a schema, records are as the file has them."""

    def __init__(self, schema: AvroSchema | None) -> None:
        self._schema = schema
        self._splits: deque[AvroSplit] = deque()
        self._blocks: Iterator[Any] | None = None
        self._file: BufferedReader | None = None
        self._records: list[Any] = []
        self._skip = 0

    def add_splits(self, splits: list[AvroSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        split = self._splits[0]
        try:
            blocks = self._open(split) if self._blocks is None else self._blocks
            if not self._records and not self._load(blocks):
                self.close()
                self._splits.popleft()
                return Records([], split=name_of(split), ended=True)
        except _BROKEN as error:
            said = f"cannot read {str(split.place)!r} as Avro: {error!r:.300}"
            raise unreadable(said, error, is_local=not split.place.root) from error
        records, self._records = self._records[:records_max], self._records[records_max:]
        self._splits[0] = replace(split, start=split.start + len(records))
        return Records(records, split=name_of(split))

    def _open(self, split: AvroSplit) -> Iterator[Any]:
        place = where_it_is(split)
        self._file = BufferedReader(place.system.open_input_file(place.path), BLOCK_BYTES)
        self._skip = split.start
        self._blocks = iter(block_reader(self._file, None if self._schema is None else self._schema.parsed))
        return self._blocks

    def _load(self, blocks: Iterator[Any]) -> bool:
        """Decode the next block. Return whether there was one. Blocks before the position are skipped, not decoded."""
        for block in blocks:
            if self._skip < block.num_records:
                self._records, self._skip = list(block)[self._skip :], 0
                return True
            self._skip -= block.num_records
        return False

    def snapshot(self) -> list[AvroSplit]:
        return list(self._splits)

    def close(self) -> None:
        self._blocks = None
        if self._file is not None:
            self._file.close()
            self._file = None


@final
class AvroInputFormat(InputFormat):
    """An Avro file, or a folder of Avro files, for `env.create_input()`. Records are dicts with the schema.

    >>> schema = AvroSchema('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}')
    >>> AvroInputFormat("/data/orders.avro", schema).path
    '/data/orders.avro'
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self.path = path
        self._format = AvroFormat(checked(schema))

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return PickledBytesTypeInfo()

    def source(self) -> FileSource:
        return FileSource.for_bulk_file_format(self._format, self.path).build()


def checked(schema: object) -> AvroSchema:
    """Return the schema if it is an `AvroSchema`. Raises ProgramError for other objects."""
    if not isinstance(schema, AvroSchema):
        raise ProgramError(
            f"the schema must be an AvroSchema, such as AvroSchema.parse_string(text), not {schema!r:.100}"
        )
    return schema
