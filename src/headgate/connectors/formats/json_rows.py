"""Flink's schemas for rows as JSON messages."""

from __future__ import annotations

from typing import Any, Final, Self, final

from headgate.connectors.formats.json_schema import type_of_json_schema
from headgate.connectors.message_schemas import DeserializationSchema, SerializationSchema
from headgate.errors import ProgramError
from headgate.types.json_rules import FLINK
from headgate.types.json_text import column_writer
from headgate.types.json_values import (
    FAILURES,
    JsonParser,
    JsonReader,
    check_characters,
    has_decimal,
    has_escaped_surrogates,
)
from headgate.types.typeinfo import RowTypeInfo, TypeInformation

_BLANKS: Final = " \t\r\n"


@final
class JsonRowDeserializationSchema(DeserializationSchema):
    """Converts a JSON object to a row with the field names of the type. A `null` message gives no record.

    Text is converted to numbers and numbers to text if the type requires it. Dates and times have the forms
    `2024-02-29`, `12:00:00Z` and `2024-02-29T12:00:00.5Z`.

    >>> from headgate.types.typeinfo import Types
    >>> types = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    >>> JsonRowDeserializationSchema.builder().type_info(types).build().deserialize(b'{"id": "7", "name": null}')
    Row(id=7, name=None)
    """

    def __init__(self, type_info: RowTypeInfo, *, fail_on_missing: bool, ignore_errors: bool) -> None:
        self.produced_type = type_info
        self._fail_on_missing = fail_on_missing
        self._ignore_errors = ignore_errors
        self._scan = JsonParser(exact=has_decimal(type_info)).scan
        self._reading = JsonReader(FLINK, fail_on_missing=fail_on_missing, ignore_errors=ignore_errors).of(type_info)

    @staticmethod
    def builder() -> Builder:
        """Return a builder."""
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes) -> Any:
        try:
            return self._reading.one(self._parsed(message))
        except FAILURES:
            if self._ignore_errors:
                return None
            raise

    def deserialize_all(self, messages: list[bytes]) -> list[Any]:
        parsed = self._parsed_or_none if self._ignore_errors else self._parsed
        return self._reading.column(list(map(parsed, messages)))

    def _parsed(self, message: bytes) -> Any:
        text = message.decode()
        try:
            # Text after the value is ignored, as in Flink.
            value = self._scan(text if text[:1] == "{" else text.lstrip(_BLANKS), 0)[0]
        except StopIteration:
            raise ValueError("it is not JSON") from None
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        if has_escaped_surrogates(text):
            check_characters(value)
        return value

    def _parsed_or_none(self, message: bytes) -> Any:
        try:
            return self._parsed(message)
        except (ValueError, AttributeError):
            return None

    def __reduce__(self) -> tuple[Any, ...]:
        return _deserialization, (self.produced_type, self._fail_on_missing, self._ignore_errors)

    class Builder:
        """Builds a `JsonRowDeserializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> Self:
            """Set the type of the rows."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> Self:
            """Derive the type of the rows from a JSON schema, whose numbers become decimals."""
            if json_schema is None:
                raise TypeError("json_schema() takes the text of a JSON schema, not None")
            self._type_info = type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> Self:
            """Fail if an object lacks a field. By default the field is None."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> Self:
            """Skip messages that are not JSON, and use None for a value that does not fit its type."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Return the schema. Raises ProgramError without a row type."""
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise ProgramError("JSON takes one of fail_on_missing_field() and ignore_parse_errors(), not both")
            types = row_type(self._type_info, "type_info()")
            return _deserialization(types, self._fail_on_missing_field, self._ignore_parse_errors)


def _deserialization(types: RowTypeInfo, fail_on_missing: bool, ignore_errors: bool) -> JsonRowDeserializationSchema:
    return JsonRowDeserializationSchema(types, fail_on_missing=fail_on_missing, ignore_errors=ignore_errors)


@final
class JsonRowSerializationSchema(SerializationSchema):
    """Converts a row to a JSON object with the field names of the type, for `JsonRowDeserializationSchema`.

    >>> from headgate.types.typeinfo import Types
    >>> types = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    >>> JsonRowSerializationSchema.builder().with_type_info(types).build().serialize((7, "Zoë"))
    b'{"id":7,"name":"Zo\\xc3\\xab"}'
    """

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type_info = type_info
        self._write = column_writer(type_info)

    @staticmethod
    def builder() -> Builder:
        """Return a builder."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, element: Any) -> bytes:
        return self.serialize_all([element])[0]

    def serialize_all(self, elements: list[Any]) -> list[bytes]:
        return list(map(str.encode, self._write(elements)))

    def __reduce__(self) -> tuple[type[JsonRowSerializationSchema], tuple[RowTypeInfo]]:
        return JsonRowSerializationSchema, (self._type_info,)

    class Builder:
        """Builds a `JsonRowSerializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> Self:
            """Set the type of the rows."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Return the schema. Raises TypeError without a type, ProgramError for a type that is not a row type."""
            if self._type_info is None:
                raise TypeError("a JsonRowSerializationSchema needs with_type_info()")
            return JsonRowSerializationSchema(row_type(self._type_info, "with_type_info()"))


def row_type(type_info: TypeInformation | None, given_by: str) -> RowTypeInfo:
    """Return the type if it is a row type. Raises ProgramError for other types."""
    if not isinstance(type_info, RowTypeInfo):
        raise ProgramError(f"{given_by} takes the type of a row, such as Types.ROW_NAMED(...), not {type_info!r:.100}")
    return type_info
