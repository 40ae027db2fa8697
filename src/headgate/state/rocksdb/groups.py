"""Computes the key groups, and the names of rows, of many keys at a time."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.errors import InternalError
from headgate.state.keyed.cells import plain_key
from headgate.state.keygroups import key_group
from headgate.state.rocksdb.row_keys import cell_rows
from headgate.types.typed_key import key_hash_code

_MANY: Final = 300
"""From this many keys, computing on Arrow columns is faster."""


@final
class KeyGroups:
    """The key groups of a subtask."""

    def __init__(self, owned: range, max_parallelism: int, native: ModuleType | None) -> None:
        self.owned = owned
        self._max_parallelism = max_parallelism
        self.native = native

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
        codes = [key_hash_code(plain_key(key)) for key in keys]
        if len(codes) < _MANY:
            groups = [key_group(code, self._max_parallelism) for code in codes]
        else:
            groups = key_groups(codes, self._max_parallelism)
        if groups and not (self.owned.start <= min(groups) and max(groups) < self.owned.stop):
            at = next(index for index, group in enumerate(groups) if group not in self.owned)
            raise InternalError(f"key {keys[at]!r} of key group {groups[at]} reached a subtask that owns {self.owned}")
        return groups


def key_groups(codes: list[int], max_parallelism: int) -> list[int]:
    """Return the key group of each hash code, as `keygroups.key_group` does.

    >>> key_groups([0, -1, 42], 128) == [key_group(code, 128) for code in (0, -1, 42)]
    True
    """
    h = pc.cast(pc.bit_wise_and(pa.array(codes, pa.int64()), 0xFFFFFFFF), pa.uint32())
    h = _rotated(_times(h, 0xCC9E2D51), 15)
    h = _rotated(_times(h, 0x1B873593), 13)
    h = pc.bit_wise_xor(pc.add(_times(h, 5), _number(0xE6546B64)), _number(4))
    h = _mixed(h, 16)
    h = _mixed(_times(h, 0x85EBCA6B), 13)
    h = _mixed(_times(h, 0xC2B2AE35), 16)
    h = pc.cast(h, pa.int64())
    h = pc.bit_wise_and(pc.if_else(pc.less(h, 2**31), h, pc.subtract(2**32, h)), 0x7FFFFFFF)
    groups: list[int] = pc.subtract(h, pc.multiply(pc.divide(h, max_parallelism), max_parallelism)).to_pylist()
    return groups


def _number(value: int) -> pa.Scalar:
    return pa.scalar(value, pa.uint32())


def _times(h: pa.Array, factor: int) -> pa.Array:
    """Multiply modulo 2**32."""
    return pc.multiply(h, _number(factor))


def _rotated(h: pa.Array, bits: int) -> pa.Array:
    return pc.bit_wise_or(pc.shift_left(h, _number(bits)), pc.shift_right(h, _number(32 - bits)))


def _mixed(h: pa.Array, bits: int) -> pa.Array:
    return pc.bit_wise_xor(h, pc.shift_right(h, _number(bits)))
