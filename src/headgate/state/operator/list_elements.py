"""The elements of an operator state in a snapshot, each pickled alone, and how a restore distributes them."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, final

from headgate.state.formats.unpickle import loader


@final
class ListMode(StrEnum):
    """How a restore distributes the elements of all old subtasks to the new subtasks."""

    SPLIT = "split"
    """Each element goes to one subtask; at unchanged parallelism to the subtask that saved it."""

    UNION = "union"
    """Each subtask gets the elements of all subtasks."""

    KEYED = "keyed"
    """Each element goes to the subtask that owns its key. An element begins with the key's hash code."""

    BROADCAST = "broadcast"
    """Each old subtask saved a whole copy; each new subtask gets one copy. Elements are pickled (key, value) pairs."""


@final
@dataclass(frozen=True, slots=True)
class ListElements:
    """The elements of one operator state. `type` is their type as JSON, empty for headgate's internal states."""

    mode: ListMode = ListMode.SPLIT
    elements: list[bytes] = field(default_factory=list)
    type: str = ""

    @classmethod
    def of(cls, values: Iterable[Any], mode: ListMode = ListMode.SPLIT) -> ListElements:
        """Return the elements of an internal state with these values."""
        return cls(mode, [pickle.dumps(value, 5) for value in values])

    @classmethod
    def by_key(cls, values: Iterable[Any], codes: Iterable[int]) -> ListElements:
        """Return the elements of an internal state distributed by key. `codes` are the keys' hash codes."""
        pairs = zip(values, codes, strict=True)
        return cls(ListMode.KEYED, [_CODE.pack(code) + pickle.dumps(value, 5) for value, code in pairs])

    def values(self, where: str, moved: Mapping[str, str]) -> list[Any]:
        """Return the values of the elements. `moved` maps the old names of moved classes to their new names.

        Raises `RestoreError` for a missing class. The message begins with `where`.
        """
        start = _CODE.size if self.mode is ListMode.KEYED else 0
        load = loader(moved, where)
        return [load(element[start:]) for element in self.elements]


_CODE: Final = struct.Struct(">i")


def code_of(element: bytes) -> int:
    """Return the hash code of the key in an element that is distributed by key."""
    return int(_CODE.unpack_from(element)[0])
