"""Files of CSV by a `CsvSchema`: how they are read and written."""

from __future__ import annotations

import csv
from typing import Any, final

from headgate.connectors.files.bulk_writer import BulkWriterFactory, RowWriterFactory
from headgate.connectors.files.csv_lines import ParsedLines, decode_each, parse_multiline
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.lines import BYTE_ORDER_MARK, Decoded, LineDecoder, split_lines
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.formats.csv_fields import FAILURES
from headgate.connectors.formats.csv_schema import CsvSchema
from headgate.errors import ProgramError, SinkError
from headgate.types.row import Row


@final
class CsvReaderFormat(StreamFormat):
    """Each line is a row of the schema's columns. A file is read by one subtask, as quotes may hold newlines.

    >>> format = CsvReaderFormat.for_schema(CsvSchema.builder().add_number_column("id").build())
    """

    is_splittable = False

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        self.produced_type = schema.row_type()
        self.header_lines = int(schema.use_header) + int(schema.skip_first_data_row)
        CsvSchemaDecoder(schema)

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Return the format of a schema. Raises ProgramError for a column whose type CSV does not have."""
        return CsvReaderFormat(_checked(schema))

    def is_header(self, line: bytes) -> bool:
        text = line.removeprefix(BYTE_ORDER_MARK).strip()
        return not self._schema.allow_comments or bool(text and not text.startswith(b"#"))

    def decoder(self, header: bytes) -> CsvSchemaDecoder:
        if self._schema.use_header and self._schema.strict_headers and header:
            lines = header.removeprefix(BYTE_ORDER_MARK).splitlines(keepends=True)
            self._check(b"".join(line for line in lines if self.is_header(line)).decode())
        return CsvSchemaDecoder(self._schema)

    def _check(self, header: str) -> None:
        try:
            found = self._schema.dialect.parse_first(header)
        except csv.Error as error:
            raise ValueError(f"the header is not CSV: {error}") from error
        wanted = list(self._schema.row_type().field_names)
        if found != wanted:
            raise ValueError(f"the header names the columns {', '.join(found)}, not {', '.join(wanted)}")


@final
class CsvSchemaDecoder(LineDecoder):
    """Decodes a block at once, or row by row when something in it is out of the ordinary."""

    def __init__(self, schema: CsvSchema) -> None:
        rows = schema.rows()
        self._schema = schema
        self._dialect = schema.dialect
        self._width = len(schema)
        self._read = rows.reader()

    def decode(self, block: bytes, is_last: bool) -> Decoded:
        try:
            text = block.decode()
            records = self._decode_at_once(text)
        except UnicodeDecodeError:
            text, records = block.decode(errors="surrogateescape"), None
        if records is not None:
            return Decoded(records)
        return decode_each(parse_multiline(text, self._dialect.parser), self._record, goes_on=not is_last)

    def _decode_at_once(self, text: str) -> list[Row] | None:
        """Return a record for each line, or None if a line is broken or left out, or may go on in the next."""
        special = {self._dialect.quote, self._dialect.escape, "#" if self._schema.allow_comments else None}
        if any(each is not None and each in text for each in special):
            return None
        lines = split_lines(text)
        try:
            fields = [row or [""] for row in self._dialect.parser(lines)]
            return self._read(fields) if len(fields) == len(lines) else None
        except (csv.Error, *FAILURES):
            return None

    def _record(self, parsed: ParsedLines) -> Row | str | None:
        if parsed.fields is None:
            return parsed.reason
        fields = parsed.fields or [""]
        if self._schema.allow_comments and (not parsed.fields or fields[0].lstrip().startswith("#")):
            return None
        if self._schema.any_property is not None:
            fields = fields[: self._width]
        try:
            "".join(fields).encode()
            return self._read([fields])[0]
        except UnicodeEncodeError:
            return "it is not UTF-8"
        except FAILURES as error:
            return str(error)


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
        end = self._schema.line_separator
        try:
            return "".join([line + end for line in self._write(records)]).encode()
        except (TypeError, AttributeError, *FAILURES) as error:
            raise self._not_csv(records, error) from error

    def _not_csv(self, records: list[Any], error: Exception) -> SinkError:
        for record in records:
            try:
                self._write([record])
            except (TypeError, AttributeError, *FAILURES) as reason:
                return SinkError(f"the record {record!r:.200} cannot be written as CSV: {reason}; map it first")
        return SinkError(f"records cannot be written as CSV: {error}")

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvSchemaEncoder, (self._schema,)


def _checked(schema: object) -> CsvSchema:
    if not isinstance(schema, CsvSchema):
        raise ProgramError(
            f"for_schema() takes a CsvSchema, such as CsvSchema.builder()...build(), not {schema!r:.100}"
        )
    return schema
