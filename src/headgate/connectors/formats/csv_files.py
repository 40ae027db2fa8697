"""Reads and writes CSV files by a `CsvSchema`."""

from __future__ import annotations

from typing import Any, final

from headgate.connectors.files.bulk_writer import BulkWriterFactory, RowWriterFactory
from headgate.connectors.files.csv_lines import CsvDecoder, CsvLines, header_names, quoted_names
from headgate.connectors.files.encoders import Encoder, unwritable
from headgate.connectors.files.lines import BYTE_ORDER_MARK
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.formats.csv_schema import CsvSchema
from headgate.errors import ProgramError
from headgate.types.records import UNWRITABLE


@final
class CsvReaderFormat(StreamFormat):
    """Each line is a row of the schema's columns. One subtask reads a file, because quotes may contain newlines.

    >>> format = CsvReaderFormat.for_schema(CsvSchema.builder().add_number_column("id").build())
    """

    is_splittable = False

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        self.produced_type = schema.row_type()
        self.header_lines = int(schema.use_header) + int(schema.skip_first_data_row)
        self.decoder(b"")

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Return the format of a schema. Raises ProgramError for a column whose type CSV does not have."""
        return CsvReaderFormat(_checked(schema))

    def is_header(self, line: bytes) -> bool:
        text = line.removeprefix(BYTE_ORDER_MARK).strip()
        return not self._schema.allow_comments or bool(text and not text.startswith(b"#"))

    def decoder(self, header: bytes) -> CsvDecoder:
        if self._schema.use_header and self._schema.strict_headers and header:
            given = header.removeprefix(BYTE_ORDER_MARK).splitlines(keepends=True)
            own = b"".join(line for line in given if self.is_header(line))
            found, wanted = header_names(own, self._schema.dialect, "UTF-8"), list(self._schema.row_type().field_names)
            if found != wanted:
                raise ValueError(f"the header names the columns {quoted_names(found)}, not {quoted_names(wanted)}")
        lines = CsvLines(
            dialect=self._schema.dialect,
            width=len(self._schema),
            comments=self._schema.allow_comments,
            blank_is_row=True,
            cut=self._schema.any_property is not None,
        )
        return CsvDecoder(lines, self._schema.rows().reader())


@final
class CsvBulkWriters:
    """Writers of CSV files.

    >>> factory = CsvBulkWriters.for_schema(CsvSchema.builder().add_number_column("id").build())
    """

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Return the factory of files of a schema. Raises ProgramError for a column whose type CSV does not have."""
        return RowWriterFactory(CsvSchemaEncoder(_checked(schema)))


@final
class CsvSchemaEncoder(Encoder):
    """A line of CSV for each row of a schema's columns."""

    suffix = ".csv"

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        self._write = schema.rows().writer()

    def header(self) -> bytes:
        if not self._schema.use_header:
            return b""
        names = map(self._schema.dialect.quoter(), self._schema.row_type().field_names)
        return f"{self._schema.dialect.delimiter.join(names)}{self._schema.line_separator}".encode()

    def encode(self, records: list[Any]) -> bytes:
        try:
            return self._lines(records)
        except UNWRITABLE as error:
            raise unwritable(records, self._lines, "CSV", error) from error

    def _lines(self, records: list[Any]) -> bytes:
        end = self._schema.line_separator
        return "".join([line + end for line in self._write(records)]).encode()

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvSchemaEncoder, (self._schema,)


def _checked(schema: object) -> CsvSchema:
    if not isinstance(schema, CsvSchema):
        raise ProgramError(
            f"for_schema() takes a CsvSchema, such as CsvSchema.builder()...build(), not {schema!r:.100}"
        )
    return schema
