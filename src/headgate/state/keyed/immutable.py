"""Which values nothing can change, so that they need no copy."""

from __future__ import annotations

from typing import Any, Final

_IMMUTABLE: Final = frozenset({int, float, str, bytes, bool, type(None), complex})


def is_immutable(value: Any) -> bool:
    """Return whether a value, and all in it, can never change.

    >>> is_immutable((1, "a", (None, 2.5))), is_immutable((1, []))
    (True, False)
    """
    kind = type(value)
    return kind in _IMMUTABLE or (kind is tuple and all(map(is_immutable, value)))
