"""The typed form of a batch: columns of values of exact types, which the compiled module writes and reads.

This module reads it in Python. Nothing writes it in Python, where `pickle` is faster. A batch is pickled whole if a
value in it has another type, if a list, dict, tuple or row is in two columns, so that its identity matters, or if it is
nested more than `_DEPTH_MAX` columns deep.

The bytes are described in docs/reference/snapshot-format.md.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from itertools import islice
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, final

from headgate.errors import DamagedBatchError
from headgate.types.row import KeywordNames, Row, RowKind, class_of, make_row

if TYPE_CHECKING:
    from headgate._native import Codec

_MAGIC: Final = b"HGB\x01"
_HEAD: Final = struct.Struct("<III")
_DEPTH_MAX: Final = 64
_VARIED: Final = 255
_OWN_COLUMN: Final = 1
_FIRST_COLUMN: Final = 2
_WIDTHS: Final = {1: "b", 2: "h", 4: "i", 8: "q"}
_US_IN_DAY: Final = 86_400_000_000
_ROW_KINDS: Final = tuple(RowKind)

Lists = tuple[list[Any], list[int] | None, list[Any] | None]
"""The records, timestamps and keys of a batch."""


def is_typed(payload: bytes | memoryview) -> bool:
    """Return whether an encoded batch has the typed form, of any version. No pickle begins like this."""
    return payload[:3] == _MAGIC[:3]


@cache
def codec(module: ModuleType) -> Codec | None:
    """Return the writer and reader of the compiled module; None if a type that it relies on is written in Python."""
    if isinstance(Decimal.__str__, FunctionType):
        return None
    made: Codec = module.Codec(Row, KeywordNames, Decimal, _ROW_KINDS, class_of, DamagedBatchError)
    return made


def reader(module: ModuleType | None) -> Callable[[bytes | memoryview], Lists]:
    """Return the function that reads batches: of the compiled module where there is one, else `read`."""
    compiled = None if module is None else codec(module)
    return read if compiled is None else compiled.decode


def read(payload: bytes | memoryview) -> Lists:
    """Return the records, timestamps and keys of a batch. Raises DamagedBatchError for bytes that are no batch."""
    reader = _Reader(memoryview(payload))
    try:
        return reader.batch()
    except DamagedBatchError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, struct.error) as error:
        raise reader.damaged("a value is wrong") from error


@final
class _Reader:
    """Reads one batch."""

    def __init__(self, payload: memoryview) -> None:
        self._left = payload
        self._count = 0
        self._columns = 0
        self._wanted: set[int] = set()
        self._kept: dict[int, list[Any]] = {}

    def damaged(self, what: str) -> DamagedBatchError:
        """Return the error for the bytes that are read now."""
        return DamagedBatchError(f"an encoded batch is damaged {len(self._left)} bytes before its end: {what}")

    def batch(self) -> Lists:
        """Read the batch."""
        if self._bytes(len(_MAGIC)) != _MAGIC:
            raise self.damaged("it has an unknown version")
        self._count, *places = _HEAD.unpack(self._bytes(_HEAD.size))
        self._wanted = {place - _FIRST_COLUMN for place in places if place >= _FIRST_COLUMN}
        self._need(self._count)
        records = self._column(self._count, 0)
        timestamps, keys = map(self._beside, places)
        if self._left:
            raise self.damaged("it is too long")
        return records, timestamps, keys

    def _beside(self, place: int) -> list[Any] | None:
        if place < _FIRST_COLUMN:
            return self._column(self._count, 0) if place == _OWN_COLUMN else None
        kept = self._kept.get(place - _FIRST_COLUMN)
        if kept is None:
            raise self.damaged("it names a column that it does not have")
        return list(kept)

    # --- bytes and numbers

    def _need(self, count: int) -> None:
        if count > len(self._left):
            raise self.damaged("it is cut off")

    def _bytes(self, count: int) -> bytes:
        self._need(count)
        taken, self._left = self._left[:count], self._left[count:]
        return bytes(taken)

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _numbers(self, count: int) -> list[int]:
        width = self._byte()
        if width not in _WIDTHS:
            raise self.damaged("numbers have an unknown width")
        return list(struct.unpack(f"<{count}{_WIDTHS[width]}", self._bytes(width * count)))

    def _numbers_of(self, count: int, within: range, what: str) -> list[int]:
        numbers = self._numbers(count)
        if numbers and not (min(numbers) in within and max(numbers) in within):
            raise self.damaged(f"{what} is wrong")
        return numbers

    def _lengths(self, count: int, least: int = 0) -> list[int]:
        """Read lengths. Their sum is no more than the bytes that follow."""
        lengths = self._numbers(count)
        if lengths and (min(lengths) < least or sum(max(0, length) for length in lengths) > len(self._left)):
            raise self.damaged("a length is wrong")
        return lengths

    # --- columns

    def _column(self, count: int, depth: int) -> list[Any]:
        if depth > _DEPTH_MAX:
            raise self.damaged("columns are nested too deeply")
        number = self._columns
        self._columns += 1
        kind = self._byte()
        if kind >= len(_KINDS):
            raise self.damaged("a column has an unknown kind")
        values = _KINDS[kind](self, count, depth + 1)
        if number in self._wanted and count == self._count:
            self._kept[number] = values
        return values

    def _nones(self, count: int, depth: int) -> list[None]:
        if any(self._bytes(count)):
            raise self.damaged("a constant is unknown")
        return [None] * count

    def _bools(self, count: int, depth: int) -> list[bool]:
        values = self._bytes(count)
        if values and max(values) > 1:
            raise self.damaged("a constant is unknown")
        return list(map(bool, values))

    def _ints(self, count: int, depth: int) -> list[int]:
        return self._numbers(count)

    def _floats(self, count: int, depth: int) -> list[float]:
        return list(struct.unpack(f"<{count}d", self._bytes(8 * count)))

    def _byte_strings(self, count: int, depth: int) -> list[bytes]:
        return [self._bytes(length) for length in self._lengths(count)]

    def _texts(self, count: int, depth: int) -> list[str]:
        return [value.decode("utf-8", "surrogatepass") for value in self._byte_strings(count, depth)]

    def _big_ints(self, count: int, depth: int) -> list[int]:
        return [int(text, 16) for text in self._texts(count, depth)]

    def _decimals(self, count: int, depth: int) -> list[Decimal]:
        return list(map(Decimal, self._texts(count, depth)))

    def _dates(self, count: int, depth: int) -> list[dt.date]:
        numbers = self._numbers_of(count, range(10_000 * 512), "a date")
        return [dt.date(number // 512, number // 32 % 16, number % 32) for number in numbers]

    def _times(self, count: int, depth: int) -> list[dt.time]:
        times = []
        for number in self._numbers_of(count, range(2 * _US_IN_DAY), "a time"):
            seconds, micros = divmod(number // 2, 1_000_000)
            times.append(dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros, fold=number % 2))
        return times

    def _datetimes(self, count: int, depth: int, zone: dt.timezone | None = None) -> list[dt.datetime]:
        dates = self._dates(count, depth)
        return [
            dt.datetime.combine(date, time, zone) for date, time in zip(dates, self._times(count, depth), strict=True)
        ]

    def _datetimes_utc(self, count: int, depth: int) -> list[dt.datetime]:
        return self._datetimes(count, depth, dt.UTC)

    def _timedeltas(self, count: int, depth: int) -> list[dt.timedelta]:
        days = self._numbers_of(count, range(-999_999_999, 1_000_000_000), "a duration")
        micros = self._numbers_of(count, range(_US_IN_DAY), "a duration")
        return [dt.timedelta(day, 0, micro) for day, micro in zip(days, micros, strict=True)]

    def _columns_of(self, length: int, count: int, depth: int) -> list[list[Any]]:
        """Return a list for each of the `count` values with the items of a container, from a column for each item."""
        self._need(count)
        if length == 0:
            self._bytes(count)
            return [[] for _ in range(count)]
        return list(map(list, zip(*(self._column(count, depth) for _ in range(length)), strict=True)))

    def _lists(self, count: int, depth: int) -> list[list[Any]]:
        length = self._byte()
        if length != _VARIED:
            return self._columns_of(length, count, depth)
        lengths = self._lengths(count)
        return _cut(self._column(sum(lengths), depth), lengths)

    def _tuples(self, count: int, depth: int) -> list[tuple[Any, ...]]:
        return list(map(tuple, self._lists(count, depth)))

    def _dicts(self, count: int, depth: int) -> list[dict[Any, Any]]:
        length = self._byte()
        if length != _VARIED:
            self._need(count)
            lengths = [length] * count
            keys = [self._column(length, depth)] * count
            values = self._columns_of(length, count, depth)
        else:
            lengths = self._lengths(count)
            keys = _cut(self._column(sum(lengths), depth), lengths)
            values = _cut(self._column(sum(lengths), depth), lengths)
        dicts = [dict(zip(*both, strict=True)) for both in zip(keys, values, strict=True)]
        if list(map(len, dicts)) != lengths:
            raise self.damaged("a dict has a key twice")
        return dicts

    def _rows(self, count: int, depth: int) -> list[Row]:
        places = self._numbers(count)
        shapes = self._shapes(depth)
        kinds = self._bytes(count)
        if places and not (0 <= min(places) <= max(places) < len(shapes) and max(kinds) < len(_ROW_KINDS)):
            raise self.damaged("a row has unknown names, or an unknown kind")
        values = self._column(count, depth)
        if not all(type(own) is list or type(own) is tuple for own in values):
            raise self.damaged("a row has no values")
        return [
            make_row(own, shapes[place], _ROW_KINDS[kind])
            for own, place, kind in zip(values, places, kinds, strict=True)
        ]

    def _shapes(self, depth: int) -> list[tuple[str, ...] | None]:
        """Read the names of rows."""
        lengths = self._lengths(count := self._byte(), least=-1)
        are_keyword_names = self._bytes(count)
        names = _cut(self._column(sum(max(0, length) for length in lengths), depth), lengths)
        shapes: list[tuple[str, ...] | None] = []
        for own, length, is_keyword_names in zip(names, lengths, are_keyword_names, strict=True):
            shape = KeywordNames(own) if is_keyword_names else tuple(own)
            shapes.append(None if length < 0 else shape)
            class_of(shapes[-1])
        return shapes

    def _mixed(self, count: int, depth: int) -> list[Any]:
        kinds = self._bytes(count)
        groups = {kind: iter(self._column(kinds.count(kind), depth)) for kind in sorted(set(kinds))}
        return [next(groups[kind]) for kind in kinds]

    def _distinct(self, count: int, depth: int) -> list[Any]:
        different = int.from_bytes(self._bytes(4), "little")
        places = self._numbers_of(count, range(different), "a place")
        self._need(different)
        values = self._column(different, depth)
        return [values[place] for place in places]


def _cut(values: list[Any], lengths: list[int]) -> list[list[Any]]:
    """Cut the list into pieces of these lengths, in order. A piece of a length below 0 is empty."""
    items = iter(values)
    return [list(islice(items, max(0, length))) for length in lengths]


_KINDS: Final[tuple[Callable[[_Reader, int, int], list[Any]], ...]] = (
    *(_Reader._nones, _Reader._bools, _Reader._ints, _Reader._big_ints, _Reader._floats, _Reader._texts),
    *(_Reader._byte_strings, _Reader._decimals, _Reader._dates, _Reader._times, _Reader._datetimes),
    *(_Reader._datetimes_utc, _Reader._timedeltas, _Reader._tuples, _Reader._lists, _Reader._dicts, _Reader._rows),
    *(_Reader._mixed, _Reader._distinct),
)
"""How a column of each kind is read, by the number of the kind."""
