"""Stored values: the values of a pane that a backend has written to its database, and may have let go of in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, final

Rest = Callable[["range | None"], Iterator[tuple[Any, Any, Any]]]
"""Reads the keys that the database has, of some key groups or of all, with their values and timers, in pieces."""


@final
class StoredValues(dict[Any, Any]):
    """Those values that are in memory as well, by key; to ask for another reads it.

    None stands for a key that has no value. `read` puts the values of keys here.

    >>> table = {"a": 1}
    >>> def read(keys):
    ...     values.update((key, table.get(key)) for key in keys)
    >>> values = StoredValues(read, lambda groups: iter(()))
    >>> values.let_go_of([])
    >>> "a" in values, values["a"], values["b"]
    (True, 1, None)
    """

    __slots__ = ("_read", "is_outdated", "is_whole", "rest")

    def __init__(self, read: Callable[[list[Any]], None], rest: Rest) -> None:
        super().__init__()
        self._read = read
        self.rest = rest
        self.is_whole = True
        """Whether each key that the database has is here, or has a newer value."""
        self.is_outdated = False
        """Whether the timers that the database has are not those of now."""

    def __contains__(self, key: object) -> bool:
        if dict.__contains__(self, key):
            return True
        if self.is_whole:
            return False
        self._read([key])
        return True

    def __missing__(self, key: Any) -> Any:
        self._read([key])
        return self.get(key)

    def has(self, key: Any) -> bool:
        """Return whether a key is here, without reading it."""
        return dict.__contains__(self, key)

    def let_go_of(self, keys: list[Any]) -> None:
        """Remove keys that the database has."""
        self.is_whole = False
        for key in keys:
            self.pop(key, None)

    def outdate(self) -> None:
        """The timers of all keys have changed. What was here has a newer value."""
        self.is_outdated = self.is_outdated or not self.is_whole
        self.clear()
