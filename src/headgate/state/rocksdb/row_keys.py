"""Row keys: the place of the state of a key in a database.

Rows sort by key group, so the key groups of a rescaled subtask are ranges::

    group:2 00 cell                       a cell: its values, in one row
    group:2 01 column:2 cell item         an element of a list (item: its number, 8 bytes) or an entry of a map
    ff fe column:2 time:8 group:2 cell    a timer: the index of due timers
    ff ff                                 the layouts of the rows

The name of a cell is the length of its key (4 bytes) and the bytes of the key. With a namespace, the highest bit of the
length is set, and the length and bytes of the namespace follow. All numbers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final, final

from headgate.errors import InternalError
from headgate.state.formats.codecs import Load, pickled
from headgate.state.formats.key_codec import decode_key, decode_map_key, encode_key, encode_map_key, original
from headgate.state.keyed.cells import NAMESPACED, cell_key, plain_key
from headgate.state.keygroups import groups_of_keys

_LENGTH: Final = struct.Struct(">I")
_GROUP: Final = struct.Struct(">HB")
_CELL: Final = struct.Struct(">HBI")
_ITEMS: Final = struct.Struct(">HBH")
_TIMER: Final = struct.Struct(">HHQH")
_NAMESPACED_BIT: Final = 2**31
_TIMERS: Final = 0xFFFE
_TIME_BIAS: Final = 2**63

LAYOUTS_ROW: Final = b"\xff\xff"
ITEMS_AT: Final = 5
"""Where the name of the cell begins in the key of an item's row."""
CELL_AT: Final = 3
"""Where the name of the cell begins in the key of a cell's row."""
TIMER_CELL_AT: Final = 14
"""Where the name of the cell begins in the key of a timer's row."""


def name_of(key: Any) -> bytes:
    """Return the name of the cell with this key. Raises `SerializationError` if the key has no canonical bytes."""
    (name,) = names_of([key])
    return name


def names_of(keys: Sequence[Any]) -> list[bytes]:
    """Return the names of the cells with these keys. It is faster if neighbours have the same namespace."""
    last, end = None, b""
    names = []
    for key in keys:
        if type(key) is tuple and len(key) == 3 and key[0] is NAMESPACED:
            if key[2] is not last:
                last, namespace = key[2], encode_map_key(key[2])
                end = _LENGTH.pack(len(namespace)) + namespace
            data = encode_key(key[1])
            names.append(_LENGTH.pack(len(data) | _NAMESPACED_BIT) + data + end)
        else:
            data = encode_key(key)
            names.append(_LENGTH.pack(len(data)) + data)
    return names


def name_length(data: bytes, at: int) -> int:
    """Return the length of the name of a cell that begins at index `at`."""
    (length,) = _LENGTH.unpack_from(data, at)
    if length < _NAMESPACED_BIT:
        return int(4 + length)
    end = 4 + length - _NAMESPACED_BIT
    return int(end + 4 + _LENGTH.unpack_from(data, at + end)[0])


def original_of(key: Any) -> bytes | None:
    """Return the pickle of a key if the name of its cell cannot restore the same object, else None."""
    if type(key) is tuple and len(key) == 3 and key[0] is NAMESPACED:
        parts = key[1:]
        return None if all(original(part) is None for part in parts) else pickled(parts)
    return original(key)


def key_of(name: bytes, stored_original: bytes | None, load: Load) -> Any:
    """Return the key of the cell with this name."""
    (length,) = _LENGTH.unpack_from(name)
    if length < _NAMESPACED_BIT:
        return decode_key(name[4:], stored_original, load)
    if stored_original is not None:
        return cell_key((NAMESPACED, *load(stored_original)))
    end = 4 + length - _NAMESPACED_BIT
    return (NAMESPACED, decode_key(name[4:end], None), decode_map_key(name[end + 4 :], None))


def cell_row(group: int, name: bytes) -> bytes:
    """Return the key of a cell's row."""
    return _GROUP.pack(group, 0) + name


def cell_rows(groups: Sequence[int], keys: Sequence[Any]) -> list[bytes]:
    """Return the keys of the rows of many cells: the results of `cell_row` and `name_of`."""
    pack = _CELL.pack
    named = iter(names_of([key for key in keys if type(key) is tuple]))
    rows = []
    for group, key in zip(groups, keys, strict=True):
        if type(key) is tuple:
            rows.append(cell_row(group, next(named)))
        else:
            data = encode_key(key)
            rows.append(pack(group, 0, len(data)) + data)
    return rows


def cells_of(group: int) -> tuple[bytes, bytes]:
    """Return the range of a key group's rows of cells."""
    return _GROUP.pack(group, 0), _GROUP.pack(group, 1)


def items_of(group: int, column: int) -> tuple[bytes, bytes]:
    """Return the range of a key group's rows of items in a column."""
    return _ITEMS.pack(group, 1, column), _ITEMS.pack(group, 1, column + 1)


def all_of(groups: range) -> tuple[bytes, bytes]:
    """Return the range of all rows of consecutive key groups."""
    return _GROUP.pack(groups.start, 0), _GROUP.pack(groups.stop, 0)


def items_prefix(group: int, column: int, name: bytes) -> bytes:
    """Return the prefix of the rows of a cell's items in a column. Its rows end before `prefix + ff`."""
    return _ITEMS.pack(group, 1, column) + name


def timer_row(column: int, timestamp_ms: int, group: int, name: bytes) -> bytes:
    """Return the key of a timer's row."""
    return _TIMER.pack(_TIMERS, column, timestamp_ms + _TIME_BIAS, group) + name


def timers_of(column: int) -> tuple[bytes, bytes]:
    """Return the range of the rows of timers in a column."""
    return _TIMER.pack(_TIMERS, column, 0, 0), _TIMER.pack(_TIMERS, column + 1, 0, 0)


def time_and_group(row: bytes) -> tuple[int, int]:
    """Return the time of a timer in milliseconds, and its key group."""
    _, _, time, group = _TIMER.unpack_from(row)
    return time - _TIME_BIAS, group


@final
class KeyGroups:
    """The key groups of a subtask."""

    def __init__(self, owned: range, max_parallelism: int, native: ModuleType | None) -> None:
        self.owned = owned
        self._max_parallelism = max_parallelism
        self.native = native
        self._group_of = groups_of_keys(max_parallelism, native)

    def cell_rows(self, keys: list[Any]) -> list[bytes]:
        """Return the keys of the rows of the cells with these keys. Raises `InternalError` as `of` does."""
        if self.native is None:
            return cell_rows(self.of(keys), keys)
        names: list[bytes]
        names, others = self.native.row_names(keys, self._max_parallelism, self.owned.start, self.owned.stop)
        if others:
            left = [keys[at] for at in others]
            for at, name in zip(others, cell_rows(self.of(left), left), strict=True):
                names[at] = name
        return names

    def of(self, keys: Sequence[Any]) -> list[int]:
        """Return the key groups of the keys of cells. Raises `InternalError` if the subtask does not own one."""
        groups = [self._group_of(plain_key(key)) for key in keys]
        if groups and not (self.owned.start <= min(groups) and max(groups) < self.owned.stop):
            at = next(index for index, group in enumerate(groups) if group not in self.owned)
            raise InternalError(f"key {keys[at]!r} of key group {groups[at]} reached a subtask that owns {self.owned}")
        return groups
