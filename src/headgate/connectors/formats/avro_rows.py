"""Converts Avro records to rows and back: Flink's type for a schema, and values that differ from fastavro's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, final

from headgate.connectors.formats.avro_schema import AvroSchema, Json
from headgate.errors import ProgramError
from headgate.types.records import values_in_order
from headgate.types.row import Row, make_rows
from headgate.types.typeinfo import RowTypeInfo, TypeInformation, Types

Convert = Callable[[Any], Any]

_BYTES: Final = Types.PRIMITIVE_ARRAY(Types.BYTE())
_TYPES: Final[dict[str, TypeInformation]] = {
    "null": Types.SQL_NULL(),
    "boolean": Types.BOOLEAN(),
    "int": Types.INT(),
    "long": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "bytes": _BYTES,
    "fixed": _BYTES,
    "string": Types.STRING(),
    "enum": Types.STRING(),
    "date": Types.SQL_DATE(),
    "time-millis": Types.SQL_TIME(),
    "time-micros": Types.SQL_TIME(),
    "timestamp-millis": Types.SQL_TIMESTAMP(),
    "timestamp-micros": Types.SQL_TIMESTAMP(),
    "local-timestamp-millis": Types.SQL_TIMESTAMP(),
    "local-timestamp-micros": Types.SQL_TIMESTAMP(),
    "decimal": Types.BIG_DEC(),
}
_WITH_ZONE: Final = frozenset(["timestamp-millis", "timestamp-micros"])


@final
@dataclass(frozen=True, slots=True)
class AvroRows:
    """Converts rows of a record schema. A conversion of None means that values are the same on both sides."""

    schema: AvroSchema

    def type_info(self) -> RowTypeInfo:
        """Return the type of the rows. Raises ProgramError if the schema is not of a record."""
        if _kind(self.schema.parsed) != "record":
            raise ProgramError(f"rows need an Avro schema of a record, not {str(self.schema)!r:.200}")
        return self._record_type(self.schema.parsed, ())

    def _record_type(self, record: Json, within: tuple[str, ...]) -> RowTypeInfo:
        if record["name"] in within:
            raise ProgramError(f"the record {record['name']!r} of Avro holds itself, which no row can")
        inner = (*within, record["name"])
        names = [field["name"] for field in record["fields"]]
        return RowTypeInfo([self._type(field["type"], inner) for field in record["fields"]], names)

    def _type(self, schema: Json, within: tuple[str, ...]) -> TypeInformation:
        schema = self.schema.named(schema)
        kind = _kind(schema)
        match kind:
            case "record":
                return self._record_type(schema, within)
            case "array":
                return Types.OBJECT_ARRAY(self._type(schema["items"], within))
            case "map":
                return Types.MAP(Types.STRING(), self._type(schema["values"], within))
            case "union":
                some = _some(schema)
                return self._type(some[0], within) if len(some) == 1 else Types.PICKLED_BYTE_ARRAY()
        return _TYPES.get(kind) or _TYPES[schema["type"]]

    def to_rows(self) -> Callable[[list[dict[str, Any]]], list[Row]]:
        """Return the function that makes rows of the dicts that fastavro reads, column by column."""
        return self._record_reader(self.schema.parsed)

    def _record_reader(self, record: Json) -> Callable[[list[dict[str, Any]]], list[Row]]:
        names = tuple(field["name"] for field in record["fields"])
        columns = [self._reader(field["type"]) for field in record["fields"]]
        if not names:
            return lambda datums: make_rows([() for _ in datums], ())
        if len(names) == 1 or any(columns):
            fields = [(itemgetter(name), column) for name, column in zip(names, columns, strict=True)]
            return lambda datums: make_rows(
                zip(
                    *(map(of, datums) if make is None else _nullable(make, map(of, datums)) for of, make in fields),
                    strict=True,
                ),
                names,
            )
        values = itemgetter(*names)
        return lambda datums: make_rows(map(values, datums), names)

    def _reader(self, schema: Json) -> Convert | None:
        schema = self.schema.named(schema)
        match _kind(schema):
            case "record":
                rows = self._record_reader(schema)
                return lambda value: rows([value])[0]
            case "uuid":
                return str
            case kind if kind in _WITH_ZONE:
                return lambda value: value.replace(tzinfo=None)
        return self._inner(schema, self._reader)

    def to_datum(self) -> Convert:
        """Return the function that makes a dict of a record, for `fitted`. It raises ValueError for missing fields."""
        return self._record_writer(self.schema.parsed)

    def _record_writer(self, record: Json) -> Convert:
        names = tuple(field["name"] for field in record["fields"])
        fields = [self._writer(field["type"]) for field in record["fields"]]
        if not any(fields):
            return lambda row: dict(zip(names, values_in_order(row, names), strict=True))

        def datum(row: Any) -> dict[str, Any]:
            values = zip(names, fields, values_in_order(row, names), strict=True)
            return {name: value if make is None or value is None else make(value) for name, make, value in values}

        return datum

    def _writer(self, schema: Json) -> Convert | None:
        schema = self.schema.named(schema)
        return self._record_writer(schema) if _kind(schema) == "record" else self._inner(schema, self._writer)

    def _inner(self, schema: Json, of: Callable[[Json], Convert | None]) -> Convert | None:
        """Return the conversion of values within an array, a map, or a union of one type and null."""
        match _kind(schema):
            case "array" if (element := of(schema["items"])) is not None:
                return lambda values: _nullable(element, values)
            case "map" if (item := of(schema["values"])) is not None:
                return lambda values: dict(zip(values, _nullable(item, values.values()), strict=True))
            case "union" if len(some := _some(schema)) == 1:
                return of(some[0])
        return None


def _kind(schema: Json) -> str:
    """Return the name of a schema's type; for a logical type, the name of the logical type."""
    if isinstance(schema, list):
        return "union"
    if isinstance(schema, str):
        return schema
    logical = schema.get("logicalType")
    kind: str = logical if logical in _TYPES or logical == "uuid" else schema["type"]
    return kind


def _some(union: list[Json]) -> list[Json]:
    return [branch for branch in union if branch != "null"]


def _nullable(make: Convert, values: Any) -> list[Any]:
    return [None if value is None else make(value) for value in values]
