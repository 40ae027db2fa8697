"""JSON lines as columns: a block of lines is decoded in one call, or line by line where it has an unusual value.

Values are as in Flink's format `json`: times are text, `2024-01-01 12:00:00.5` (SQL) or `2024-01-01T12:00:00.5`
(ISO-8601), with a `Z` for points in time; bytes are Base64; decimals are numbers. A text column takes any value.
"""

from __future__ import annotations

import base64
import datetime as dt
import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from headgate.columns.functions.explicit_casts import cast
from headgate.columns.logical_types import POINTS, STRING, TIMESTAMPS, Kind, LogicalType
from headgate.columns.program import ColumnProgram
from headgate.columns.schema import Schema
from headgate.columns.typed import Field, all_fields
from headgate.connectors.files.bulk_writer import BatchBulkWriter, BulkWriterFactory
from headgate.connectors.files.lines import BrokenLine, BrokenLines, Decoded, LineDecoder, split_raw_lines
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.formats.json_texts import JsonTexts
from headgate.connectors.formats.message_columns import batch_of_values

_DIRECT: Final = frozenset(
    [Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL]
)
"""The kinds that Arrow's reader reads as they are."""
_BY_TEXT: Final = frozenset([Kind.CHAR, Kind.VARCHAR, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ])
"""The kinds that are read as text and cast."""


def _as_read(kind: LogicalType) -> LogicalType | None:
    """Return the type that Arrow's reader reads for a type, to which the values are then cast. None for MAP, BYTES."""
    if kind.kind in _DIRECT:
        return kind.nulls()
    if kind.kind in _BY_TEXT:
        return STRING
    if kind.kind not in (Kind.ARRAY, Kind.ROW):
        return None
    inner = [(name, _as_read(own)) for name, own in kind.fields]
    found = tuple((name, own) for name, own in inner if own is not None)
    return replace(kind, nullable=True, fields=found) if len(found) == len(inner) else None


def _are_documents(block: bytes) -> bool:
    """Whether each line is one or more JSON objects, and nothing else, if the whole block can be parsed.

    A line that begins with `{` and ends with `}` cannot be continued by the next such line: within an object or an
    array, a comma would have to follow. (Arrow's reader ends the process for a document that is `null`.)
    """
    return block[:1] == b"{" and block[-1:] == b"}" and block.count(b"}\n{") == block.count(b"\n")


@final
@dataclass(frozen=True, slots=True)
class JsonColumns:
    """How JSON values become columns of a schema.

    `ignore_errors` leaves out lines that are no record; `fail_on_missing` makes a record without a field one of these.
    """

    schema: Schema
    ignore_errors: bool = False
    fail_on_missing: bool = False
    _read: pa.Schema = field(init=False, compare=False, repr=False)
    _casts: ColumnProgram | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        read = [(name, _as_read(own)) for name, own in self.schema]
        found = [(name, own) for name, own in read if own is not None]
        object.__setattr__(self, "_read", pa.schema([(name, own.arrow) for name, own in found]))
        object.__setattr__(self, "_casts", self._cast_all(found) if len(found) == len(read) else None)

    def _cast_all(self, read: list[tuple[str, LogicalType]]) -> ColumnProgram:
        fields = all_fields(own for _, own in read)
        return ColumnProgram([cast(given, own, "UTC") for given, own in zip(fields, self.schema.types, strict=True)])

    def at_once(self, block: bytes) -> pa.RecordBatch | None:
        """Return the records of lines with newlines between them; None if a line has to be looked at by itself."""
        if self._casts is None or not _are_documents(block):
            return None
        options = pa.json.ParseOptions(explicit_schema=self._read, unexpected_field_behavior="ignore")
        reading = pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        try:
            table = pa.json.read_json(io.BytesIO(block), read_options=reading, parse_options=options)
            if table.num_rows != block.count(b"\n") + 1:
                return None  # a line has two documents
            read = [own.combine_chunks() for own in table.columns]
            columns = [
                _in_sql(own, kind) if kind.kind in TIMESTAMPS else own
                for own, kind in zip(read, self.schema.types, strict=True)
            ]
            batch = pa.RecordBatch.from_arrays(columns, schema=self._read)
            batch.validate(full=True)  # raises for bytes that are no UTF-8
            if any(own.null_count and not kind.nullable for own, kind in zip(read, self.schema.types, strict=True)):
                return None
            if self.fail_on_missing and any(own.null_count for own in batch.columns):
                return None
            return pa.RecordBatch.from_arrays(self._casts.columns(batch), schema=self.schema.arrow)
        except (pa.ArrowException, ValueError, ArithmeticError):
            return None

    def one(self, line: bytes) -> list[Any]:
        """Return the values of one line. Raises ValueError, which says what is wrong with it."""
        value = json.loads(line, parse_float=Decimal)
        if not isinstance(value, dict):
            raise ValueError(f"{value!r:.60} is no object")
        missing = [name for name, _ in self.schema if name not in value] if self.fail_on_missing else []
        if missing:
            raise ValueError(f"there is no field {missing[0]!r}")
        made = [stored(value.get(name), own, name) for name, own in self.schema]
        for own, (name, kind) in zip(made, self.schema, strict=True):
            if own is None and not kind.nullable:
                raise ValueError(f"field {name!r} is NULL, but is NOT NULL in schema")
        return made


def _in_sql(texts: pa.Array, kind: LogicalType) -> pa.Array:
    """Return the texts of times as casts read them: without a `T`, and without the `Z` of points in time in UTC."""
    spaced = pc.replace_substring(texts, "T", " ")
    if kind.kind is Kind.TIMESTAMP:
        return spaced
    return pc.if_else(pc.ends_with(spaced, "Z"), pc.utf8_slice_codeunits(spaced, 0, -1), spaced)


def stored(value: Any, kind: LogicalType, name: str) -> Any:
    """Return a JSON value as Arrow takes it. Raises ValueError naming the field of a value that does not fit."""
    if value is None:
        return None
    try:
        made = _STORED[kind.kind](value, kind, name)
        if kind.kind in _DIRECT:
            return pa.scalar(made, kind.arrow).as_py()
        if kind.kind in POINTS and not isinstance(made, pa.Scalar):
            pa.scalar(made, kind.arrow)  # raises for a time that is out of range
        return made
    except (KeyError, TypeError, ValueError, ArithmeticError, pa.ArrowException) as error:
        raise ValueError(
            f"field {name!r} is {json.dumps(value, default=str):.60}, which is no {kind}: {error}"
        ) from None


def _text(value: Any, kind: LogicalType, name: str) -> str:
    made = value if isinstance(value, str) else json.dumps(value, default=float, ensure_ascii=False)
    made.encode()  # raises for half a character
    return made


_EXPONENT_MAX: Final = 400
"""The largest exponent of a number that is converted to a decimal or an integer."""


def _number(value: Any, kind: LogicalType, name: str) -> Any:
    if isinstance(value, bool):
        raise ValueError("a boolean is no number")
    exact = Decimal(value)
    if exact.is_finite() and exact.adjusted() > _EXPONENT_MAX and kind.kind not in (Kind.FLOAT, Kind.DOUBLE):
        raise ValueError("it is too large")  # an int of 1e999999999 would take hours, and all memory
    if kind.kind in (Kind.FLOAT, Kind.DOUBLE):
        return float(exact)
    if kind.kind is Kind.DECIMAL:
        return exact
    if exact != exact.to_integral_value():
        raise ValueError("it is not whole")
    return int(exact)


def _boolean(value: Any, kind: LogicalType, name: str) -> bool:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}[str(value).lower()]


@cache
def _cast_of_texts(kind: LogicalType) -> ColumnProgram:
    return ColumnProgram([cast(Field(0, STRING), kind.nulls(), "UTC")])


def _cast_alone(text: str, kind: LogicalType) -> pa.Scalar | None:
    """Return a time as a whole block would have it; None if it must be read otherwise, or is wrong."""
    texts = pa.array([text], pa.string())
    given = _in_sql(texts, kind) if kind.kind in TIMESTAMPS else texts
    try:
        return _cast_of_texts(kind).columns(pa.RecordBatch.from_arrays([given], ["text"]))[0][0]
    except (pa.ArrowException, ValueError, ArithmeticError):
        return None


def _time(value: Any, kind: LogicalType, name: str) -> Any:
    if not isinstance(value, str):
        raise TypeError("a time is a text")
    made = _cast_alone(value, kind)
    if made is not None:
        return made
    if kind.kind is Kind.DATE:
        return dt.date.fromisoformat(value)
    if kind.kind is Kind.TIME:
        return dt.time.fromisoformat(value.removesuffix("Z"))
    made = dt.datetime.fromisoformat(value)
    if kind.kind is Kind.TIMESTAMP:
        return made.replace(tzinfo=None) if made.tzinfo is None else _zoned(value)
    return made.replace(tzinfo=dt.UTC) if made.tzinfo is None else made


def _zoned(value: str) -> Any:
    raise ValueError(f"{value} has a zone")


def _bytes(value: Any, kind: LogicalType, name: str) -> bytes:
    return base64.b64decode(value, validate=True)


def _array(value: Any, kind: LogicalType, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("an ARRAY is an array")
    return [stored(own, kind.element, f"{name}[]") for own in value]


def _map(value: Any, kind: LogicalType, name: str) -> list[Any]:
    if not isinstance(value, dict):
        raise TypeError("a MAP is an object")
    return [(stored(key, kind.key, name), stored(own, kind.value, f"{name}.{key}")) for key, own in value.items()]


def _row(value: Any, kind: LogicalType, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("a ROW is an object")
    return {own: stored(value.get(own), inner, f"{name}.{own}") for own, inner in kind.fields}


_STORED: Final[dict[Kind, Callable[[Any, LogicalType, str], Any]]] = {
    Kind.BOOLEAN: _boolean,
    **dict.fromkeys((Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT), _number),
    **dict.fromkeys((Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL), _number),
    **dict.fromkeys((Kind.CHAR, Kind.VARCHAR), _text),
    **dict.fromkeys((Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ), _time),
    **dict.fromkeys((Kind.BINARY, Kind.VARBINARY), _bytes),
    Kind.ARRAY: _array,
    Kind.MAP: _map,
    Kind.ROW: _row,
}


@final
class JsonColumnsFormat(StreamFormat):
    """Files of JSON lines, read as record batches of a schema."""

    def __init__(self, columns: JsonColumns) -> None:
        self._columns = columns
        self.broken_lines = BrokenLines.SKIP if columns.ignore_errors else BrokenLines.FAIL

    def decoder(self, header: bytes) -> JsonColumnsDecoder:
        return JsonColumnsDecoder(self._columns)


@final
class JsonColumnsDecoder(LineDecoder):
    """Decodes a block at once. If this fails, decodes it line by line."""

    def __init__(self, columns: JsonColumns) -> None:
        self._columns = columns

    def decode(self, block: bytes, is_last: bool) -> Decoded:
        if not block:
            return Decoded([])
        made = self._columns.at_once(block.removesuffix(b"\n"))
        return Decoded(made) if made is not None else self._each(split_raw_lines(block))

    def _each(self, lines: Iterable[bytes]) -> Decoded:
        rows: list[list[Any]] = []
        lines_after: list[int] = []
        broken: list[BrokenLine] = []
        for index, line in enumerate(lines):
            if not line or line.isspace():
                continue
            try:
                rows.append(self._columns.one(line))
            except (ValueError, RecursionError) as error:
                broken.append(BrokenLine(index, str(error)))
            else:
                lines_after.append(index + 1)
        return Decoded(batch_of_values(rows, self._columns.schema), lines_after, broken)


@final
@dataclass(frozen=True, slots=True)
class JsonColumnsWriterFactory(BulkWriterFactory):
    """Makes writers of JSON lines of record batches."""

    texts: JsonTexts
    suffix: str = ".json"

    def create(self, stream: pa.NativeFile) -> JsonColumnsWriter:
        return JsonColumnsWriter(self.texts, stream)


@final
class JsonColumnsWriter(BatchBulkWriter):
    """Writes each row as one line."""

    def __init__(self, texts: JsonTexts, stream: pa.NativeFile) -> None:
        super().__init__(texts.schema.arrow)
        self._texts = texts
        self._stream = stream

    def write_columns(self, columns: pa.RecordBatch) -> None:
        lines = self._texts.of(columns).to_pylist()
        self._stream.write("".join(f"{line}\n" for line in lines).encode())

    def finish(self) -> None:
        """Do nothing: everything is written."""
