"""Operator states of a snapshot as rows: split lists, union lists, and broadcast states."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from headgate.checkpoint.handles import ListStateHandle
from headgate.checkpoint.manifest import OperatorManifest
from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.errors import RestoreError
from headgate.snapshots.rows import CELL_CHARACTERS_MAX, RowPage, RowQuery, RowTaker, ShownRow
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.types.excerpt import excerpt
from headgate.types.typeinfo import TypeInformation


@final
@dataclass(frozen=True, slots=True)
class ListStateParts:
    """An operator state: the part of each subtask. For a broadcast state, all parts are equal."""

    parts: tuple[tuple[int, ListStateHandle], ...]

    @property
    def kind(self) -> str:
        """The name of the mode in which a restore distributes the elements."""
        return self.parts[0][1].mode.value

    @property
    def type(self) -> str | None:
        """The declared type of the whole state, None for headgate's internal states."""
        declared = self.parts[0][1].type
        return str(TypeInformation.from_json(json.loads(declared))) if declared else None

    @property
    def size_bytes(self) -> int:
        """Size in storage, in bytes."""
        return sum(own.handle.size_bytes for _, own in self.parts)

    def rows(self, query: RowQuery, store: CheckpointStore, moved: Mapping[str, str]) -> RowPage:
        """Return rows of the state. A key in `query` selects an entry of a broadcast state. Blocks.

        Raises `StorageError`.
        """
        page = RowPage(kind=self.kind, type=self.type, is_complete=True)
        taker = RowTaker(page, query)
        for row, key in self._all(store, moved):
            page.entries_read += 1
            if query.key is None or query.key.stands_for(key):
                taker.take(row)
            if page.more:
                break
        return page

    def _all(self, store: CheckpointStore, moved: Mapping[str, str]) -> Iterator[tuple[ShownRow, Any]]:
        is_broadcast = self.parts[0][1].mode is ListMode.BROADCAST
        for subtask, own in self.parts[:1] if is_broadcast else self.parts:
            for element in _elements(own, store, moved):
                key, value = element if is_broadcast and isinstance(element, tuple) else (None, element)
                shown = None if key is None else excerpt(key, CELL_CHARACTERS_MAX)
                yield ShownRow(subtask=subtask, key=shown, value=excerpt(value, CELL_CHARACTERS_MAX)), key


def list_states(operator: OperatorManifest) -> dict[str, ListStateParts]:
    """Return the operator states of an operator, by name."""
    found: dict[str, list[tuple[int, ListStateHandle]]] = {}
    for subtask, state in sorted(operator.subtasks.items()):
        for name, own in state.lists.items():
            found.setdefault(name, []).append((subtask, own))
    return {name: ListStateParts(tuple(parts)) for name, parts in sorted(found.items())}


def _elements(own: ListStateHandle, store: CheckpointStore, moved: Mapping[str, str]) -> Iterator[Any]:
    """Yield the elements. An element whose class is missing is replaced by a `_Pickled`."""
    pickles: list[bytes] = pickle.loads(read_state(store, own.handle))  # noqa: S301  # a list of bytes without classes
    for element in pickles:
        try:
            yield from ListElements(own.mode, [element]).values("", moved)
        except RestoreError:
            yield _Pickled(len(element))


@final
@dataclass(frozen=True, slots=True)
class _Pickled:
    """Replaces an element that cannot be unpickled in this process."""

    size_bytes: int

    def __repr__(self) -> str:
        return f"(pickled, {self.size_bytes} bytes)"
