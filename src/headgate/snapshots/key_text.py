"""Keys as people type them: which keys a text may mean, and whether it means a given key. Pure."""

from __future__ import annotations

import ast
import datetime as dt
import json
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, final
from uuid import UUID

from headgate.errors import SerializationError
from headgate.state.keygroups import key_group
from headgate.types.keys import hash_code
from headgate.types.row import Row

_PLAIN: Final = frozenset([str, int, bool, bytes, type(None)])


@final
class KeyText:
    """A text that means a key: by its `str`, its `repr`, or the JSON of a tuple, list, dict or row.

    >>> text = KeyText('["ann", 1]')
    >>> text.stands_for(("ann", 1)), text.stands_for(["ann", 1]), text.stands_for('["ann", 1]'), text.stands_for("ann")
    (True, True, True, False)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._json = _parsed(json.loads, text)
        self._has_json = isinstance(self._json, list | dict)

    def stands_for(self, key: Any) -> bool:
        """Return whether the text means this key."""
        if type(key) is str:
            return key == self.text or repr(key) == self.text
        if self._has_json and isinstance(key, tuple | list | dict | Row) and _as_json(key) == self._json:
            return True
        return _is_text_of(str, key, self.text) or _is_text_of(repr, key, self.text)

    def key_groups(self, max_parallelism: int) -> set[int]:
        """Return the key groups of the keys that the text is known to mean. It may mean keys in other groups, too."""
        groups: set[int] = set()
        for key in self._known():
            with suppress(SerializationError, ValueError, OverflowError, RecursionError):
                groups.add(key_group(hash_code(key), max_parallelism))
        return groups

    def _known(self) -> list[Any]:
        literal = _parsed(ast.literal_eval, self.text)
        found = [self.text, literal, _tuples(self._json), self._json]
        return found + [_parsed(read, self.text) for read in (float, UUID, dt.date.fromisoformat, _datetime)]


def is_plain(key: Any) -> bool:
    """Return whether `KeyText.key_groups` knows every text that means this key.

    >>> is_plain("ann"), is_plain(("ann", 1)), is_plain(Row(name="ann"))
    (True, True, False)
    """
    if type(key) is float:
        return math.isfinite(key)
    return type(key) in _PLAIN or (type(key) is tuple and all(map(is_plain, key)))


def _parsed(read: Callable[[str], Any], text: str) -> Any:
    """Return the value of the text, or the text itself if `read` cannot parse it."""
    try:
        return read(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _datetime(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _as_json(value: Any) -> Any:
    """Return a key as JSON: rows with names and dicts as objects. Values without a JSON form stay unchanged."""
    if isinstance(value, Row):
        pairs = zip(value._fields or (), value._values, strict=False)
        return {name: _as_json(own) for name, own in pairs} if value._fields else list(map(_as_json, value._values))
    if isinstance(value, tuple | list):
        return list(map(_as_json, value))
    return {name: _as_json(own) for name, own in value.items()} if isinstance(value, dict) else value


def _is_text_of(show: Callable[[Any], str], key: Any, text: str) -> bool:
    try:
        return show(key) == text
    except Exception:  # noqa: BLE001  # a user's class may raise anything
        return False
