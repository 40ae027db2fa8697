"""Columns as JSON texts, with kernels of whole columns: the values of Flink's format `json`.

Times are text, `2024-01-01 12:00:00.5` (SQL) or `2024-01-01T12:00:00.5` (ISO-8601), with a `Z` for points in time;
bytes are Base64; decimals are numbers with all digits.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.json_values import in_quotes
from headgate.columns.lists import entries_of
from headgate.columns.logical_types import Kind, LogicalType
from headgate.columns.schema import Schema
from headgate.connectors.formats.columns import timestamp_texts

_NULL: Final = "null"
_quoted: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@final
@dataclass(frozen=True, slots=True)
class JsonTexts:
    """Writes rows of a schema as JSON objects. `iso` writes a `T` between date and time of day."""

    schema: Schema
    iso: bool = False
    ignore_null_fields: bool = False

    def of(self, columns: pa.RecordBatch) -> pa.Array:
        """Return a column with the JSON object of each row."""
        fields = zip(self.schema.names, self.schema.types, columns.columns, strict=True)
        texts = [(name, self._texts(own, kind)) for name, kind, own in fields]
        if not self.ignore_null_fields:
            return _objects(texts)
        # Not null_handling="skip": Arrow then leaves out rows without any value.
        members = [pc.fill_null(pc.binary_join_element_wise(f",{_quoted(name)}:", own, ""), "") for name, own in texts]
        joined = pc.binary_join_element_wise(*members, "")
        return pc.binary_join_element_wise("{", pc.utf8_slice_codeunits(joined, 1), "}", "")

    def _texts(self, column: pa.Array, kind: LogicalType) -> pa.Array:
        """Return each value as JSON, and NULL for NULL."""
        match kind.kind:
            case Kind.CHAR | Kind.VARCHAR:
                return in_quotes(column)
            case Kind.FLOAT | Kind.DOUBLE:
                return _floats(column)
            case Kind.DECIMAL:
                return _decimals(column)
            case Kind.DATE | Kind.TIME:
                return _in_quotes(pc.cast(column, pa.string()))
            case Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ:
                return _in_quotes(timestamp_texts(column, "T" if self.iso else " ", "Z" if column.type.tz else ""))
            case Kind.BINARY | Kind.VARBINARY:
                encoded = [None if own is None else base64.b64encode(own).decode() for own in column.to_pylist()]
                return _in_quotes(pa.array(encoded, pa.string()))
            case Kind.ARRAY:
                return _within("[", column, self._texts(column.flatten(), kind.element), "]")
            case Kind.ROW:
                inner = zip(kind.fields, column.flatten(), strict=True)
                whole = _objects([(name, self._texts(own, inner_kind)) for (name, inner_kind), own in inner])
                return pc.if_else(column.is_valid(), whole, None) if column.null_count else whole
            case Kind.MAP:
                entries = entries_of(column)
                keys, items = entries.flatten().flatten()
                names = in_quotes(pc.cast(keys, pa.string()))
                members = pc.binary_join_element_wise(names, _or_null(self._texts(items, kind.value)), ":")
                return _within("{", entries, members, "}")
        return pc.cast(column, pa.string())


def _objects(members: list[tuple[str, pa.Array]]) -> pa.Array:
    """Return an object of each row, whose values are JSON already."""
    parts = []
    for place, (name, own) in enumerate(members):
        parts += [f"{',' if place else '{'}{_quoted(name)}:", _or_null(own)]
    return pc.binary_join_element_wise(*parts, "}", "")


def _or_null(texts: pa.Array) -> pa.Array:
    return pc.fill_null(texts, _NULL) if texts.null_count else texts


def _in_quotes(texts: pa.Array) -> pa.Array:
    """Return texts without special characters in quotes."""
    return pc.binary_join_element_wise('"', texts, '"', "")


def _within(start: str, lists: pa.Array, elements: pa.Array, end: str) -> pa.Array:
    """Return the texts of each list with commas between them. `elements` has the elements of all lists."""
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    places = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    joined = pc.binary_join(pa.ListArray.from_arrays(places, _or_null(elements)), ",")
    made = pc.binary_join_element_wise(start, joined, end, "")
    return pc.if_else(lists.is_valid(), made, None) if lists.null_count else made


def _floats(column: pa.Array) -> pa.Array:
    if pc.all(pc.is_finite(column), min_count=0).as_py():
        texts = pc.cast(column, pa.string())
        is_whole = pc.invert(pc.or_(pc.match_substring(texts, "."), pc.match_substring(texts, "e")))
        if not pc.any(is_whole).as_py():
            return texts
        whole = pc.binary_join_element_wise(texts, ".0", "")  # stays a float for readers that infer types
        return pc.if_else(is_whole, whole, texts)
    return pa.array([None if own is None else _quoted(own) for own in column.to_pylist()], pa.string())


def _decimals(column: pa.Array) -> pa.Array:
    texts = pc.cast(column, pa.string())
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    return pa.array([None if own is None else format(own, "f") for own in column.to_pylist()], pa.string())
