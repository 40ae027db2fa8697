"""Which values nothing can change, so that they need no copy."""

from __future__ import annotations

import copy
from typing import Any, Final

_IMMUTABLE: Final = frozenset({int, float, str, bytes, bool, type(None), complex})


def is_immutable(value: Any) -> bool:
    """Return whether a value, and all in it, can never change.

    >>> is_immutable((1, "a", (None, 2.5))), is_immutable((1, []))
    (True, False)
    """
    kind = type(value)
    return kind in _IMMUTABLE or (kind is tuple and all(map(is_immutable, value)))


def own(value: Any) -> Any:
    """Return the value, or a copy of it if it, or something in it, can change.

    >>> shared = [1]
    >>> own(shared) is shared, own("text")
    (False, 'text')
    """
    return value if type(value) in _IMMUTABLE or is_immutable(value) else copy.deepcopy(value)
