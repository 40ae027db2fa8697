"""The values of a pane that a backend has written to its database, some of which it keeps in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, final

Scan = Callable[["range | None"], Iterator[tuple[Any, Any, Any]]]
"""Reads the keys of the database in these key groups (None: all), with their values and timers, in pieces."""


@final
class StoredValues(dict[Any, Any]):
    """The values that are still in memory, by key. Looking up another key reads it from the database.

    A key without a value has None. `read` must put the values of its keys into this dict.

    >>> table = {"a": 1}
    >>> def read(keys):
    ...     values.update((key, table.get(key)) for key in keys)
    >>> values = StoredValues(read, lambda groups: iter(()))
    >>> values.evict([])
    >>> "a" in values, values["a"], values["b"]
    (True, 1, None)
    """

    __slots__ = ("_read", "is_outdated", "is_whole", "scan")

    def __init__(self, read: Callable[[list[Any]], None], scan: Scan) -> None:
        super().__init__()
        self._read = read
        self.scan = scan
        self.is_whole = True
        """Whether each key of the database is in this dict or has a newer value elsewhere."""
        self.is_outdated = False
        """Whether the timers in the database are out of date."""

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
        """Return whether a key is in memory. Reads nothing."""
        return dict.__contains__(self, key)

    def evict(self, keys: list[Any]) -> None:
        """Remove keys that the database has from memory."""
        self.is_whole = False
        for key in keys:
            self.pop(key, None)

    def mark_outdated(self) -> None:
        """Note that the timers of all keys have changed. All keys in memory have newer values elsewhere."""
        self.is_outdated = self.is_outdated or not self.is_whole
        self.clear()
