"""Gone panes: the windows that are over and have rows, which are deleted some at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

from headgate.state.keyed.cells import CHUNK_CELLS
from headgate.state.keyed.panes import Namespace, Pane
from headgate.state.rocksdb.pane_rows import PaneRows, cell_keys


@final
@dataclass(frozen=True, slots=True)
class _Gone:
    namespace: Namespace
    generation: int
    pane: Pane
    keys: Iterator[Any]


@final
class GonePanes:
    """In the order in which they went."""

    def __init__(self, rows: PaneRows) -> None:
        self._rows = rows
        self._gone: deque[_Gone] = deque()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._gone)

    def add(self, namespace: Namespace, pane: Pane, generation: int) -> None:
        """A pane that has rows is gone in a generation."""
        keys = self._rows.keys(namespace, self._rows.place_of(namespace, pane), self._rows.groups)
        self._gone.append(_Gone(namespace, generation, pane, keys))

    def any_until(self, generation: int) -> bool:
        """Whether there are any that went in this generation or before."""
        return bool(self._gone) and self._gone[0].generation <= generation

    def any_of(self, namespaces: Container[Namespace]) -> bool:
        """Whether there are any of windows that have come again."""
        return any(gone.namespace in namespaces for gone in self._gone)

    def erase_some(self) -> None:
        """Delete some rows; there must be a pane."""
        gone = self._gone[0]
        keys = cell_keys(islice(gone.keys, CHUNK_CELLS), gone.namespace)
        if keys:
            self._rows.write(keys, [(None, None)] * len(keys), gone.generation)
            self._rows.lead_no_more(self._rows.place_of(gone.namespace, gone.pane), gone.pane, keys)
        else:
            self._gone.popleft()
