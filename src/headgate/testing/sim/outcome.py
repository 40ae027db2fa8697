"""What comes of a stream: the form in which its records are compared, and their difference in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

_SHOWN: Final = 3


def each_record(records: list[Any]) -> Counter[Hashable]:
    """Return how often there is each record: the outcome of a stream whose records do not depend on their order.

    >>> each_record(["b", "a", "b"]) == each_record(["b", "b", "a"])
    True
    """
    return Counter(map(_hashable, records))


def _hashable(value: Any) -> Hashable:
    """Return the value, or one that can be hashed and is equal for equal values."""
    try:
        hash(value)
    except TypeError:
        return _frozen(value)
    return value  # type: ignore[no-any-return]


def _frozen(value: Any) -> Hashable:
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(_hashable, value))
    if isinstance(value, Mapping):
        return frozenset((_hashable(key), _hashable(each)) for key, each in value.items())
    if isinstance(value, AbstractSet):
        return frozenset(map(_hashable, value))
    return repr(value)


def difference(expected: object, found: object) -> str:
    """Return in words how what was found differs from what was expected."""
    if isinstance(expected, Counter) and isinstance(found, Counter):
        missing, surplus = expected - found, found - expected
        return f"{missing.total()} missing {_some(missing)}, {surplus.total()} too many {_some(surplus)}"
    return f"expected {expected!r}, found {found!r}"


def _some(counter: Counter[Any]) -> str:
    return str(sorted(counter, key=repr)[:_SHOWN])
