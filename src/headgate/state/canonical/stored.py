"""Stored forms: what a state stores for a key, taken apart into the columns of its table, and put together again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.state.formats.schema import StateMeta

_INT64: Final = range(-(2**63), 2**63)

Parts = tuple[Any, Any]
"""Time or times of the last access, None without; and the value without them."""


@final
@dataclass(frozen=True, slots=True)
class StoredForm:
    """Two functions: `split` returns None for what the state should not have; `join` undoes it."""

    split: Callable[[Any], Parts | None]
    join: Callable[[Any, Any], Any]


def stored_form(meta: StateMeta) -> StoredForm:
    """Return how a state's stored form is taken apart.

    >>> from headgate.types.typeinfo import Types
    >>> form = stored_form(StateMeta("n", "map", Types.MAP(Types.STRING(), Types.LONG()), ttl=True))
    >>> form.split({"a": (7, 1), "b": (9, 2)}), form.join([7], {"a": 1})
    (([7, 9], {'a': 1, 'b': 2}), {'a': (7, 1)})
    """
    if meta.kind == "timers":
        return StoredForm(_split_timers, lambda _, times: dict.fromkeys(times))
    if not meta.ttl:
        return StoredForm(lambda stored: (None, stored), lambda _, value: value)
    return _WITH_TIMES.get(meta.kind, StoredForm(_split_pair, lambda time, value: (time, value)))


def _split_timers(stored: Any) -> Parts | None:
    if type(stored) is dict and all(value is None for value in stored.values()):
        return None, list(stored)
    return None


def _is_pair(stored: Any) -> bool:
    return type(stored) is tuple and len(stored) == 2 and type(stored[0]) is int and stored[0] in _INT64


def _split_pair(stored: Any) -> Parts | None:
    return stored if _is_pair(stored) else None


def _split_list(stored: Any) -> Parts | None:
    if type(stored) is list and all(map(_is_pair, stored)):
        return [time for time, _ in stored], [value for _, value in stored]
    return None


def _split_map(stored: Any) -> Parts | None:
    if type(stored) is dict and all(map(_is_pair, stored.values())):
        return [time for time, _ in stored.values()], {key: value for key, (_, value) in stored.items()}
    return None


def _join_map(times: list[int], value: dict[Any, Any]) -> dict[Any, Any]:
    return {key: (time, item) for time, (key, item) in zip(times, value.items(), strict=True)}


_WITH_TIMES: Final = {
    "list": StoredForm(_split_list, lambda times, value: list(zip(times, value, strict=True))),
    "map": StoredForm(_split_map, _join_map),
}
