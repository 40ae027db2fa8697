"""Loading: converts entries of snapshots and deltas to cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, final

from headgate.state.formats.patch import ListPatch, MapPatch
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import Entry
from headgate.state.keyed.cells import KEY, Cell, cell_key
from headgate.state.kinds.forms import TIMES, StoredForm
from headgate.state.rocksdb.cache import CellCache
from headgate.state.rocksdb.timers import TimerRows

_AT_ONCE: Final = 1024


@final
class EntryLoader:
    """Loads entries into a cache. `column_of` returns the column of a restored state."""

    def __init__(self, cache: CellCache, timers: TimerRows, column_of: Callable[[StateMeta], int]) -> None:
        self._cache = cache
        self._timers = timers
        self._column_of = column_of

    def load(self, states: Sequence[StateMeta], found: Iterable[Entry]) -> None:
        """Load entries with values of these states."""
        columns = [(self._column_of(meta), meta.form) for meta in states]
        cache, rest = self._cache, iter(found)
        while piece := list(islice(rest, _AT_ONCE)):
            keys = [cell_key(entry[1]) for entry in piece]
            cache.load(keys)
            for key, (_, _, *values) in zip(keys, piece, strict=True):
                cell = cache.cell_at(key)
                for (column, form), value in zip(columns, values or [None] * len(columns), strict=True):
                    self._set(cell, column, form, value)
            cache.leave()

    def _set(self, cell: Cell, column: int, form: StoredForm, value: Any) -> None:
        if isinstance(value, ListPatch | MapPatch):
            if cell[column] is not None:
                _patch(cell[column], value)
                return
            value = value.applied(None)
        form.put(self._cache, cell, column, value)
        if form is TIMES:
            for timestamp_ms in value or ():
                self._timers.put(self._timers.name(column, timestamp_ms, cell[KEY]), cell[KEY])


def _patch(content: Any, patch: ListPatch | MapPatch) -> None:
    if isinstance(patch, ListPatch):
        content.extend(patch.appended)
        return
    for key in patch.removed:
        del content[key]
    for key, value in patch.put.items():
        content[key] = value
