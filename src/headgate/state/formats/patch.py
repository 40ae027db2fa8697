"""Patches: the changes of a list or a map, stored in a delta of keyed state in place of the whole content."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class ListPatch:
    """Elements that were added at the end. A patch without elements means that the list is unchanged."""

    appended: list[Any] = field(default_factory=list)

    def applied(self, content: list[Any] | None) -> list[Any]:
        """Return the list with the patch applied. `content` may be changed; None is an empty list.

        >>> ListPatch([3]).applied([1, 2])
        [1, 2, 3]
        """
        content = [] if content is None else content
        content.extend(self.appended)
        return content


@final
@dataclass(frozen=True, slots=True)
class MapPatch:
    """Entries that were set, and keys that were removed."""

    put: dict[Any, Any] = field(default_factory=dict)
    removed: list[Any] = field(default_factory=list)

    def applied(self, content: dict[Any, Any] | None) -> dict[Any, Any]:
        """Return the map with the patch applied. `content` may be changed; None is an empty map.

        >>> MapPatch({"a": 1}, ["b"]).applied({"b": 2})
        {'a': 1}
        """
        content = {} if content is None else content
        for key in self.removed:
            content.pop(key, None)
        content.update(self.put)
        return content


def patched(before: list[Any], after: list[Any]) -> list[Any]:
    """Return the new values of the columns of a cell. A patch is applied to the old value of its column.

    >>> patched([[1], 7, None], [ListPatch([2]), 8, ListPatch([3])])
    [[1, 2], 8, [3]]
    """
    return [
        new.applied(old) if isinstance(new, (ListPatch, MapPatch)) else new
        for old, new in zip(before, after, strict=True)
    ]
