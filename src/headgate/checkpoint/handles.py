"""Handles: what a subtask tells the job master about the state it has written.

A handle is small and immutable. Paths are relative to the job's folder in checkpoint storage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final


@final
@dataclass(frozen=True, slots=True)
class FileHandle:
    """State in a file of its own: `crc32` and `size_bytes` are of the whole file."""

    path: str
    size_bytes: int
    crc32: int


@final
@dataclass(frozen=True, slots=True)
class InlineHandle:
    """State small enough to travel in the acknowledgement and to live in `_metadata`."""

    data: bytes


StateHandle = FileHandle | InlineHandle


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """What one operator of one subtask has in a checkpoint.

    `keyed` holds the key groups of `key_groups` (first and last, both included), or is None for an operator without
    keyed state. `lists` maps the name of an operator list state to a handle on its pickled elements (a list of bytes).
    """

    uid: str
    keyed: StateHandle | None = None
    key_groups: tuple[int, int] | None = None
    lists: dict[str, StateHandle] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskState:
    """What one subtask has in a checkpoint, and what taking it cost."""

    operators: tuple[OperatorState, ...]
    sync_ms: float = 0.0
    async_ms: float = 0.0
    alignment_ms: float = 0.0

    @property
    def size_bytes(self) -> int:
        """Bytes of state, inline state included."""
        return sum(_size(handle) for op in self.operators for handle in [*op.lists.values(), op.keyed])


def _size(handle: StateHandle | None) -> int:
    match handle:
        case FileHandle():
            return handle.size_bytes
        case InlineHandle():
            return len(handle.data)
        case None:
            return 0
