"""Flink's schemas of messages in CSV, which convert rows to lines of CSV and back."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any, Final, Self, final

from headgate.connectors.formats.json_rows import row_type
from headgate.connectors.message_schemas import DeserializationSchema, SerializationSchema
from headgate.errors import ProgramError
from headgate.types.csv_dialect import CsvDialect, single
from headgate.types.csv_fields import CsvRows
from headgate.types.typeinfo import ListTypeInfo, TypeInformation

_ENDS: Final = ("\n", "\r", "\r\n", "")


@final
class CsvRowDeserializationSchema(DeserializationSchema):
    """Makes a row of the first line of a message, its fields in the order of the type.

    >>> from headgate.types.typeinfo import Types
    >>> types = Types.ROW([Types.INT(), Types.BASIC_ARRAY(Types.STRING())])
    >>> CsvRowDeserializationSchema.Builder(types).build().deserialize(b"7,a;b")
    Row(f0=7, f1=['a', 'b'])
    """

    def __init__(self, rows: CsvRows, *, allow_comments: bool) -> None:
        self.produced_type = rows.types
        self._rows = rows
        self._allow_comments = allow_comments
        self._read = rows.reader()

    def deserialize(self, message: bytes) -> Any:
        try:
            return self._deserialize(message)
        except (ValueError, csv.Error, AttributeError):
            if self._rows.ignore_errors:
                return None
            raise

    def _deserialize(self, message: bytes) -> Any:
        text = message.decode()
        while self._allow_comments and text[:1] in ("#", "\n", "\r"):
            text = text.partition("\n")[2]
        fields = self._rows.dialect.parse_first(text)
        if not text or len(fields) > len(self._rows.types.field_names):
            raise ValueError(f"it has {len(fields)} fields instead of {len(self._rows.types.field_names)}")
        [row] = self._read([fields])
        return row

    def deserialize_all(self, messages: list[bytes]) -> list[Any]:
        if self._allow_comments or self._rows.ignore_errors:
            return list(map(self.deserialize, messages))
        lines = list(self._rows.dialect.parser(map(bytes.decode, messages)))
        if len(lines) != len(messages):
            raise ValueError("a line goes on in the next message")
        return self._read(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return _deserialization, (self._rows, self._allow_comments)

    class Builder:
        """Builds a `CsvRowDeserializationSchema`."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._types = _checked(type_info)
            self._dialect = CsvDialect()
            self._allow_comments = self._ignore_errors = False

        def set_field_delimiter(self, delimiter: str) -> Self:
            """Set the separator between fields, "," by default."""
            self._dialect = replace(self._dialect, delimiter=single(delimiter, "the field delimiter"))
            return self

        def set_allow_comments(self, allow_comments: bool) -> Self:
            """Leave out lines that begin with "#"."""
            self._allow_comments = allow_comments
            return self

        def set_array_element_delimiter(self, delimiter: str) -> Self:
            """Set the separator inside a field, between elements of an array or fields of a row, ";" by default."""
            self._dialect = replace(self._dialect, array_delimiter=delimiter)
            return self

        def set_quote_character(self, c: str) -> Self:
            """Set the character that quotes texts with delimiters."""
            self._dialect = replace(self._dialect, quote=single(c, "the quote"))
            return self

        def set_escape_character(self, c: str) -> Self:
            """Set the escape character: the character after it is taken literally. The default is none."""
            self._dialect = replace(self._dialect, escape=single(c, "the escape character"))
            return self

        def set_null_literal(self, null_literal: str) -> Self:
            """Set the text that is read as None. The default is no such text."""
            self._dialect = replace(self._dialect, null_literal=null_literal)
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> Self:
            """Leave out messages that are not CSV; a field that does not fit its type is None."""
            self._ignore_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Return the schema."""
            rows = CsvRows(types=self._types, dialect=self._dialect, ignore_errors=self._ignore_errors)
            return CsvRowDeserializationSchema(rows, allow_comments=self._allow_comments)


def _deserialization(rows: CsvRows, allow_comments: bool) -> CsvRowDeserializationSchema:
    return CsvRowDeserializationSchema(rows, allow_comments=allow_comments)


@final
class CsvRowSerializationSchema(SerializationSchema):
    """Makes a line of CSV of a row, for `CsvRowDeserializationSchema` to read.

    >>> from headgate.types.typeinfo import Types
    >>> types = Types.ROW([Types.INT(), Types.BASIC_ARRAY(Types.STRING())])
    >>> CsvRowSerializationSchema.Builder(types).build().serialize((7, ["a", "b"]))
    b'7,a;b\\n'
    """

    def __init__(self, rows: CsvRows, end: str) -> None:
        self._rows = rows
        self._end = end
        self._write = rows.writer()

    def serialize(self, element: Any) -> bytes:
        return self.serialize_all([element])[0]

    def serialize_all(self, elements: list[Any]) -> list[bytes]:
        end = self._end
        return [(line + end).encode() for line in self._write(elements)]

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvRowSerializationSchema, (self._rows, self._end)

    class Builder:
        """Builds a `CsvRowSerializationSchema`."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._types = _checked(type_info)
            self._dialect = CsvDialect()
            self._end = "\n"

        def set_field_delimiter(self, c: str) -> Self:
            """Set the separator between fields, "," by default."""
            self._dialect = replace(self._dialect, delimiter=single(c, "the field delimiter"))
            return self

        def set_line_delimiter(self, delimiter: str) -> Self:
            """Set the end of a line: a newline (the default), CR, both, or nothing."""
            if delimiter not in _ENDS:
                raise ValueError(f"a line of CSV must end with a newline, CR, both, or nothing, not {delimiter!r}")
            self._end = delimiter
            return self

        def set_array_element_delimiter(self, delimiter: str) -> Self:
            """Set the separator inside a field, between elements of an array or fields of a row, ";" by default."""
            self._dialect = replace(self._dialect, array_delimiter=delimiter)
            return self

        def disable_quote_character(self) -> Self:
            """Write all texts without quotes."""
            self._dialect = replace(self._dialect, quote=None)
            return self

        def set_quote_character(self, c: str) -> Self:
            """Set the character that quotes texts that may have delimiters."""
            self._dialect = replace(self._dialect, quote=single(c, "the quote"))
            return self

        def set_escape_character(self, c: str) -> Self:
            """Set the character that is doubled within quotes."""
            self._dialect = replace(self._dialect, escape=single(c, "the escape character"))
            return self

        def set_null_literal(self, s: str) -> Self:
            """Set the text that is written for None. The default is the empty text."""
            self._dialect = replace(self._dialect, null_literal=s)
            return self

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema."""
            return CsvRowSerializationSchema(CsvRows(types=self._types, dialect=self._dialect), self._end)


def _checked(type_info: TypeInformation) -> Any:
    if type_info is None:
        raise TypeError("CSV needs the type of a row, not None")
    types = row_type(type_info, "CSV")
    for name, kind in zip(types.field_names, types.field_types, strict=True):
        if isinstance(kind, ListTypeInfo):
            raise ProgramError(f"field {name!r} cannot be a {kind} in CSV; use Types.BASIC_ARRAY or Types.OBJECT_ARRAY")
    rows = CsvRows(types=types, dialect=CsvDialect())
    rows.reader(), rows.writer()
    return types
