"""Key groups: which key group a key belongs to, and which subtask owns a key group.

A key group is the smallest unit of keyed state that moves between subtasks. The number of key groups, the max
parallelism, never changes during the life of the state. The formulas are Flink's, so equal hash codes give equal key
groups.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, Final

from headgate.errors import ProgramError
from headgate.types.typed_key import key_hash_code

PARALLELISM_MAX: Final = 2**15
DEFAULT_GROUPS_MIN: Final = 2**7
_MASK: Final = 0xFFFFFFFF


def murmur3(number: int, seed: int) -> int:
    """Return Murmur3 of one 32-bit number, from 0 to 2**32 - 1."""
    k = number * 0xCC9E2D51 & _MASK
    k = (k << 15 | k >> 17) & _MASK
    h = seed ^ k * 0x1B873593 & _MASK
    h = (h << 13 | h >> 19) & _MASK
    h = h * 5 + 0xE6546B64 & _MASK
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & _MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & _MASK
    return h ^ h >> 16


def murmur32(code: int) -> int:
    """Return Murmur3 of one 32-bit number, made non-negative as Flink does.

    >>> murmur32(0), murmur32(-1)
    (593689054, 1982413648)
    """
    h = murmur3(code, 0)
    if h < 2**31:
        return h
    return (2**32 - h) & 0x7FFFFFFF


def key_group(code: int, max_parallelism: int) -> int:
    """Return the key group of a hash code."""
    return murmur32(code) % max_parallelism


def group_of_key(key: Any, max_parallelism: int) -> int:
    """Return the key group of a key, typed or not. Raises SerializationError for a value that cannot be a key.

    >>> group_of_key("a", 128)
    75
    """
    return key_group(key_hash_code(key), max_parallelism)


def groups_of_keys(max_parallelism: int, native: ModuleType | None) -> Callable[[Any], int]:
    """Return a function from a key to its key group, as `group_of_key` does. It is compiled for int, str and bytes."""
    if native is None:
        return partial(group_of_key, max_parallelism=max_parallelism)
    of_key: Callable[[Any, int], int | None] = native.key_group
    of_code: Callable[[int, int], int] = native.key_group  # a hash code is its own hash code

    def group_of(key: Any) -> int:
        group = of_key(key, max_parallelism)
        return of_code(key_hash_code(key), max_parallelism) if group is None else group

    return group_of


def subtask_of_group(group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the index of the subtask that owns the group."""
    return group * parallelism // max_parallelism


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """Return the key groups that the subtask owns. Each key group has exactly one owner.

    >>> key_group_range(1, parallelism=3, max_parallelism=128)
    range(43, 86)
    """
    start = -(-subtask * max_parallelism // parallelism)
    return range(start, ((subtask + 1) * max_parallelism - 1) // parallelism + 1)


def default_max_parallelism(parallelism: int) -> int:
    """Return the max parallelism of an operator for which the user set none: at least 1.5 times the parallelism.

    >>> default_max_parallelism(2), default_max_parallelism(200)
    (128, 512)
    """
    wanted = parallelism + parallelism // 2
    power_of_two = 1 << (wanted - 1).bit_length() if wanted > 1 else 1
    return min(max(power_of_two, DEFAULT_GROUPS_MIN), PARALLELISM_MAX)


def check_parallelism(owner: str, parallelism: int, max_parallelism: int) -> None:
    """Raise ProgramError naming `owner` unless 1 <= parallelism <= max parallelism <= 32768."""
    if not 1 <= max_parallelism <= PARALLELISM_MAX:
        raise ProgramError(f"{owner}: the max parallelism is {max_parallelism}; it must be from 1 to {PARALLELISM_MAX}")
    if not 1 <= parallelism <= max_parallelism:
        raise ProgramError(
            f"{owner}: the parallelism is {parallelism}; it must be from 1 to the max parallelism, {max_parallelism}"
        )
