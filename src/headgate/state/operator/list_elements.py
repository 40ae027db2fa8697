"""What a snapshot knows of an operator state: its elements, each pickled by itself, and how they are dealt out."""

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
    """How the elements of all old subtasks are dealt out to the new ones."""

    SPLIT = "split"
    """Each element goes to one subtask; at unchanged parallelism to the one that had it."""

    UNION = "union"
    """Each subtask gets all elements of all subtasks."""

    KEYED = "keyed"
    """Each element goes to the subtask that owns its key; it begins with the hash code of the key."""

    BROADCAST = "broadcast"
    """Each old subtask has a whole copy; each new one gets one of them. Elements are pickled (key, value) pairs."""


@final
@dataclass(frozen=True, slots=True)
class ListElements:
    """The elements of one operator state. `type` describes their type (JSON), and is empty for states of our own."""

    mode: ListMode = ListMode.SPLIT
    elements: list[bytes] = field(default_factory=list)
    type: str = ""

    @classmethod
    def of(cls, values: Iterable[Any], mode: ListMode = ListMode.SPLIT) -> ListElements:
        """Return the elements of a state of our own, with these values."""
        return cls(mode, [pickle.dumps(value, 5) for value in values])

    @classmethod
    def by_key(cls, values: Iterable[Any], codes: Iterable[int]) -> ListElements:
        """Return the elements of a state of our own that is dealt out by key; `codes` are the keys' hash codes."""
        pairs = zip(values, codes, strict=True)
        return cls(ListMode.KEYED, [_CODE.pack(code) + pickle.dumps(value, 5) for value, code in pairs])

    def values(self, where: str, moved: Mapping[str, str]) -> list[Any]:
        """Return what the elements are, with classes that have moved taken from where `moved` says.

        Raises `RestoreError`, which begins with `where`, for a class that is not there.
        """
        start = _CODE.size if self.mode is ListMode.KEYED else 0
        load = loader(moved, where)
        return [load(element[start:]) for element in self.elements]


_CODE: Final = struct.Struct(">i")


def code_of(element: bytes) -> int:
    """Return the hash code of the key of an element that is dealt out by key."""
    return int(_CODE.unpack_from(element)[0])
