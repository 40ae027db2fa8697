"""Writes batches in their typed form, in Python: what the compiled writer has to write, byte for byte."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

from headgate.types.row import KeywordNames, Row, RowKind

KINDS: Final = (
    *("none", "bool", "int", "big int", "float", "str", "bytes", "decimal", "date", "time", "datetime"),
    *("datetime utc", "timedelta", "tuple", "list", "dict", "row", "mixed", "distinct"),
)
WIDTHS: Final = {1: "b", 2: "h", 4: "i", 8: "q"}
BY_TYPE: Final = {bool: "bool", float: "float", str: "str", bytes: "bytes", Decimal: "decimal", dt.date: "date"} | {
    dt.timedelta: "timedelta",
    tuple: "tuple",
    list: "list",
    dict: "dict",
    type(None): "none",
}
DEPTH_MAX: Final = 64


class LeftToPickle(Exception):
    """The batch has no typed form."""


def encoded(records: list[Any], timestamps: list[int] | None, keys: list[Any] | None) -> bytes | None:
    """Return a batch in its typed form; None if it has none."""
    try:
        return _Writer(records, timestamps, keys).batch()
    except LeftToPickle:
        return None


def kind_of(value: Any) -> str:
    if type(value) is int:
        return "int" if -(2**63) <= value < 2**63 else "big int"
    if type(value) is dt.datetime and (value.tzinfo is None or value.tzinfo is dt.UTC):
        return "datetime" if value.tzinfo is None else "datetime utc"
    if type(value) is dt.time and value.tzinfo is None:
        return "time"
    if type(value) is Row or (type(value).__bases__ == (Row,) and "__reduce__" not in vars(type(value))):
        return "row"
    if type(value) not in BY_TYPE:
        raise LeftToPickle
    return BY_TYPE[type(value)]


def numbers(values: Sequence[int]) -> bytes:
    for width, code in WIDTHS.items():
        if all(-(1 << 8 * width - 1) <= value < 1 << 8 * width - 1 for value in values):
            return bytes([width]) + struct.pack(f"<{len(values)}{code}", *values)
    raise AssertionError(values)


def texts(values: Sequence[str]) -> bytes:
    return byte_strings([value.encode("utf-8", "surrogatepass") for value in values])


def byte_strings(values: Sequence[bytes]) -> bytes:
    return numbers(list(map(len, values))) + b"".join(values)


def date_number(value: dt.date) -> int:
    return value.year * 512 + value.month * 32 + value.day


def clock_number(value: dt.time | dt.datetime) -> int:
    clock = dt.timedelta(0, value.second, value.microsecond, 0, value.minute, value.hour)
    return clock // dt.timedelta(microseconds=1) * 2 + value.fold


SCALARS: Final[dict[str, Callable[[list[Any]], bytes]]] = {
    "none": lambda values: bytes(len(values)),
    "bool": bytes,
    "int": numbers,
    "big int": lambda values: texts(list(map(hex, values))),
    "float": lambda values: struct.pack(f"<{len(values)}d", *values),
    "str": texts,
    "bytes": byte_strings,
    "decimal": lambda values: texts(list(map(str, values))),
    "date": lambda values: numbers(list(map(date_number, values))),
    "time": lambda values: numbers(list(map(clock_number, values))),
    "datetime": lambda values: SCALARS["date"](values) + SCALARS["time"](values),
    "datetime utc": lambda values: SCALARS["datetime"](values),
    "timedelta": lambda values: (
        numbers([value.days for value in values])
        + numbers([value.seconds * 1_000_000 + value.microseconds for value in values])
    ),
}


class _Writer:
    def __init__(self, records: list[Any], timestamps: list[int] | None, keys: list[Any] | None) -> None:
        self._records = records
        self._beside = [timestamps, keys]
        self._places = [0 if own is None else 1 for own in self._beside]
        self._columns = 0
        self._met: dict[int, tuple[int, int]] = {}

    def batch(self) -> bytes:
        if not self._records or any(own is not None and len(own) != len(self._records) for own in self._beside):
            raise LeftToPickle
        body = self._column(self._records, 0)
        for own, place in zip(list(self._beside), list(self._places), strict=True):
            if own is not None and place == 1:
                self._beside[0 if own is self._beside[0] else 1] = None
                body += self._column(own, 0)
        return b"HGB\x01" + struct.pack("<III", len(self._records), *self._places) + body

    def _column(self, values: list[Any], depth: int) -> bytes:
        if depth > DEPTH_MAX:
            raise LeftToPickle
        for index, own in enumerate(self._beside):
            if own is not None and self._places[index] == 1 and list(map(id, own)) == list(map(id, values)):
                self._places[index] = 2 + self._columns
        self._columns += 1
        if not values:
            return b"\0"
        kinds = list(map(kind_of, values))
        if len(set(kinds)) == 1:
            return self._of_kind(kinds[0], values, depth)
        out = bytes([KINDS.index("mixed"), *map(KINDS.index, kinds)])
        for kind in sorted(set(kinds), key=KINDS.index):
            self._columns += 1
            own = [value for value, its in zip(values, kinds, strict=True) if its == kind]
            out += self._of_kind(kind, own, depth + 1)
        return out

    def _of_kind(self, kind: str, values: list[Any], depth: int) -> bytes:
        if kind not in ("str", "bytes", "tuple", "list", "dict", "row"):
            return self._values(kind, values, depth)
        different: list[Any] = []
        places = []
        column = self._columns
        for value in values:
            met = None if value == () and kind == "tuple" else self._met.get(id(value))
            if met is not None and met[0] != column and kind not in ("str", "bytes"):
                raise LeftToPickle
            if met is None or met[0] != column:
                met = self._met[id(value)] = column, len(different)
                different.append(value)
            places.append(met[1])
        if len(different) == len(values):
            return self._values(kind, values, depth)
        self._columns += 1
        head = bytes([KINDS.index("distinct")]) + struct.pack("<I", len(different)) + numbers(places)
        return head + self._values(kind, different, depth + 1)

    def _values(self, kind: str, values: list[Any], depth: int) -> bytes:
        if depth > DEPTH_MAX:
            raise LeftToPickle
        head = bytes([KINDS.index(kind)])
        if kind in SCALARS:
            return head + SCALARS[kind](values)
        containers = {"tuple": self._sequences, "list": self._sequences, "dict": self._dicts, "row": self._rows}
        return head + containers[kind](values, depth + 1)

    def _columns_of(self, values: list[Any], length: int, depth: int) -> bytes:
        if length == 0:
            return bytes(len(values))
        return b"".join(self._column([value[place] for value in values], depth) for place in range(length))

    def _sequences(self, values: list[Any], depth: int) -> bytes:
        lengths = list(map(len, values))
        if len(set(lengths)) == 1 and lengths[0] < 255:
            return bytes([lengths[0]]) + self._columns_of(values, lengths[0], depth)
        return b"\xff" + numbers(lengths) + self._column([item for value in values for item in value], depth)

    def _dicts(self, values: list[dict[Any, Any]], depth: int) -> bytes:
        keys = list(values[0])
        if len(keys) < 255 and all(same_keys(keys, list(value)) for value in values):
            out = bytes([len(keys)]) + self._column(keys, depth)
            return out + self._columns_of([list(value.values()) for value in values], len(keys), depth)
        out = b"\xff" + numbers(list(map(len, values)))
        out += self._column([key for value in values for key in value], depth)
        return out + self._column([item for value in values for item in value.values()], depth)

    def _rows(self, values: list[Row], depth: int) -> bytes:
        shapes: list[Any] = []
        places = []
        place = -1
        for value in values:
            names = value._fields
            if not (names is None or type(names) in (tuple, KeywordNames)):
                raise LeftToPickle
            if not (place >= 0 and same_names(shapes[place], names)):
                place = next((at for at, own in enumerate(shapes) if same_names(own, names)), len(shapes))
            if place == 64:
                raise LeftToPickle
            if place == len(shapes):
                shapes.append(names)
            places.append(place)
        out = numbers(places) + bytes([len(shapes)])
        out += numbers([-1 if names is None else len(names) for names in shapes])
        out += bytes(type(names) is KeywordNames for names in shapes)
        out += self._column([name for names in shapes for name in names or ()], depth)
        out += bytes(list(RowKind).index(value._row_kind) for value in values)
        own: list[Any] = [value._values for value in values]
        if not all(type(each) in (list, tuple) for each in own):
            raise LeftToPickle
        return out + self._column(own, depth)


def same_keys(keys: list[Any], others: list[Any]) -> bool:
    return len(keys) == len(others) and all(
        a is b or (type(a) is str and type(b) is str and a == b) for a, b in zip(keys, others, strict=True)
    )


def same_names(names: Any, others: Any) -> bool:
    if names is None or others is None or type(names) is not type(others) or len(names) != len(others):
        return names is others
    return all(a is b for a, b in zip(names, others, strict=True))
