"""Avro schemas, and the type information of dicts with an Avro schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, final

from headgate.connectors.formats.avro_library import SchemaParseException, UnknownType, parse_schema
from headgate.errors import ProgramError
from headgate.types.typeinfo import PickledBytesTypeInfo, TypeInformation

Json = Any
"""An Avro schema as JSON: an object, a name, or a list of these."""


@final
class AvroSchema:
    """An Avro schema. Its text is JSON; schemas with equal text are equal.

    >>> AvroSchema.parse_string('{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}')
    AvroSchema({"type":"record","name":"R","fields":[{"name":"id","type":"long"}]})
    """

    def __init__(self, text: str) -> None:
        try:
            written = json.loads(text)
            self.parsed: Json = parse_schema(written)
        except (ValueError, LookupError, TypeError, SchemaParseException, UnknownType) as error:
            raise ProgramError(f"not an Avro schema: {type(error).__name__}: {error}; it is {text!r:.300}") from None
        self._text = json.dumps(written, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Return the schema in a JSON text. Raises ProgramError with the fault of the schema."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Return the schema in a local JSON file. Raises ProgramError with the fault of the file or the schema."""
        try:
            return AvroSchema(Path(file_path).read_text())
        except OSError as error:
            raise ProgramError(f"the Avro schema cannot be read: {error}") from None

    def named(self, schema: Json) -> Json:
        """Return the definition of a named schema. Other schemas are returned unchanged."""
        names = self.parsed.get("__named_schemas", {}) if isinstance(self.parsed, dict) else {}
        return names.get(schema, schema) if isinstance(schema, str) else schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[type[AvroSchema], tuple[str]]:
        return AvroSchema, (self._text,)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"AvroSchema({self._text})"


@final
class GenericRecordAvroTypeInfo:
    """The type of dicts with an Avro schema.

    The constructor returns `Types.PICKLED_BYTE_ARRAY()`: dicts are pickled.
    """

    def __new__(cls, schema: AvroSchema) -> TypeInformation:  # type: ignore[misc]
        if not isinstance(schema, AvroSchema):
            raise ProgramError(f"GenericRecordAvroTypeInfo takes an AvroSchema, not {schema!r:.100}")
        return PickledBytesTypeInfo()
