"""Expiry: what a time to live does to stored values. Pure.

A state with a time to live stores the time of the last access (wall clock, ms) with each thing that expires by itself:

- value, reducing, aggregating: `(last_access_ms, value)`
- list: a list of `(last_access_ms, element)`
- map: a dict of `key: (last_access_ms, value)`

Something has expired when `last_access_ms + ttl_ms <= now_ms`. Python's integers do not overflow, so a time to live of
any length is as long as it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Stamped = tuple[int, Any]
"""The time of the last access, and the value."""


def is_expired(kind: str, stored: Any, now_ms: int, ttl_ms: int) -> bool:
    """Return whether nothing in the stored form of a key's state lives any more.

    >>> is_expired("value", (100, "x"), 149, 50), is_expired("value", (100, "x"), 150, 50)
    (False, True)
    """
    dead_ms = now_ms - ttl_ms
    if kind == "list":
        return all(stamped[0] <= dead_ms for stamped in stored)
    if kind == "map":
        return all(stamped[0] <= dead_ms for stamped in stored.values())
    return bool(stored[0] <= dead_ms)


def without_expired(kind: str, stored: Any, now_ms: int, ttl_ms: int) -> Any | None:
    """Return the stored form without what has expired: `stored` itself when all of it lives, None when nothing does.

    Changes nothing; what it returns in place of a list or map is a plain list or dict.

    >>> without_expired("list", [(1, "a"), (9, "b")], 10, 5)
    [(9, 'b')]
    """
    return _WITHOUT.get(kind, _value_without)(stored, now_ms - ttl_ms)


def oldest_ms(kind: str, stored: Any) -> int:
    """Return the time of the access that is longest ago, of all in the stored form. There must be one.

    >>> oldest_ms("map", {"a": (7, 1), "b": (3, 1)})
    3
    """
    stamps: Iterable[Stamped] = stored if kind == "list" else stored.values() if kind == "map" else (stored,)
    return min(stamp for stamp, _ in stamps)


def with_ttl(kind: str, stored: Any, now_ms: int) -> Any:
    """Return the stored form that state without a time to live takes when it gets one: accessed at `now_ms`.

    >>> with_ttl("map", {"a": 1}, 7)
    {'a': (7, 1)}
    """
    if kind == "list":
        return [(now_ms, element) for element in stored]
    if kind == "map":
        return {key: (now_ms, value) for key, value in stored.items()}
    return (now_ms, stored)


def without_ttl(kind: str, stored: Any) -> Any:
    """Return the stored form that state takes when its time to live is taken away; what had expired lives again.

    >>> without_ttl("list", [(7, "a")])
    ['a']
    """
    if kind == "list":
        return [element for _, element in stored]
    if kind == "map":
        return {key: stamped[1] for key, stamped in stored.items()}
    return stored[1]


def _value_without(stored: Stamped, dead_ms: int) -> Stamped | None:
    return stored if stored[0] > dead_ms else None


def _list_without(stored: list[Stamped], dead_ms: int) -> list[Stamped] | None:
    living = [stamped for stamped in stored if stamped[0] > dead_ms]
    return stored if len(living) == len(stored) else living or None


def _map_without(stored: Mapping[Any, Stamped], dead_ms: int) -> Mapping[Any, Stamped] | None:
    living = {key: stamped for key, stamped in stored.items() if stamped[0] > dead_ms}
    return stored if len(living) == len(stored) else living or None


_WITHOUT: Final[dict[str, Callable[[Any, int], Any]]] = {"list": _list_without, "map": _map_without}
