"""Restoring: copies database files and rows, and loads the entries of snapshots into the cache."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, final

from headgate.errors import DamagedFileError
from headgate.state.backend import BackendContext
from headgate.state.files import KEY_FORMAT, FetchedKeyed, StateFile
from headgate.state.formats.patch import ListPatch, MapPatch
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import Entry
from headgate.state.formats.unpickle import loader
from headgate.state.keyed.cells import KEY, Cell, cell_key
from headgate.state.keyed.saved_files import check_group, open_file
from headgate.state.kinds.forms import TIMES, StoredForm
from headgate.state.rocksdb.cache import CellCache
from headgate.state.rocksdb.database import Memory, RocksDatabase
from headgate.state.rocksdb.entries import entries
from headgate.state.rocksdb.layouts import Layouts, metas_of
from headgate.state.rocksdb.row_keys import LAYOUTS_ROW, all_of, time_and_group, timers_of
from headgate.state.rocksdb.timers import TimerRows

_ALL_GROUPS: Final = range(2**15)


_AT_ONCE: Final = 1024
"""Entries that are loaded at a time."""


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


@final
class RestoreScope:
    """The backend that restores, and the beginning of error messages."""

    def __init__(self, where: str, context: BackendContext) -> None:
        self.where = where
        self.groups = context.key_groups
        self.moved = context.moved_classes
        self.native = context.native
        self._max_parallelism = context.max_parallelism

    def checked(self, found: Iterator[Entry]) -> Iterator[Entry]:
        """Yield the entries, after checking the first entry of each group: its key must still belong to the group.

        Raises `RestoreError` if the bytes of a key have changed since the state was saved.
        """
        seen = None
        for entry in found:
            if entry[0] != seen:
                seen = entry[0]
                check_group(seen, entry[1], self.where, self._max_parallelism)
            yield entry


def best_base(parts: Sequence[FetchedKeyed], groups: range) -> FetchedKeyed | None:
    """Return the part whose database has most of the groups, None if no database has the current key format."""
    databases = [part for part in parts if _is_of_today(part)]
    return max(databases, key=lambda part: len(_common(part, groups)), default=None)


def _is_of_today(part: FetchedKeyed) -> bool:
    return part.state.kind == "rocksdb" and part.state.key_format == KEY_FORMAT


def _common(part: FetchedKeyed, groups: range) -> range:
    first, last = part.state.key_groups
    return range(max(first, groups.start), min(last + 1, groups.stop))


def place_files(part: FetchedKeyed, folder: Path, where: str) -> None:
    """Put the files of a database into a new folder. Large files are linked if possible.

    Raises `DamagedFileError` if the length of a file has changed.
    """
    folder.mkdir(parents=True)
    for file in part.state.base:
        source, target = part.files[file], folder / file.name
        if isinstance(source, bytes):
            target.write_bytes(source)
        elif file.name.endswith(".sst"):
            _link(source, target)
        else:
            shutil.copyfile(source, target)
        if target.stat().st_size != file.handle.size_bytes:
            raise DamagedFileError(
                f"{_name(file)} ({where}) has {target.stat().st_size} bytes instead of {file.handle.size_bytes}; "
                "restore another checkpoint"
            )


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _name(file: StateFile) -> str:
    return getattr(file.handle, "path", file.name)


def open_files(part: FetchedKeyed, folder: Path, memory: Memory, place: RestoreScope) -> tuple[RocksDatabase, Layouts]:
    """Open the database of a part in a new folder. Raises `DamagedFileError`, `RestoreError`."""
    place_files(part, folder, place.where)
    try:
        database = RocksDatabase(folder, memory)
        described = database.get(LAYOUTS_ROW)
    except DamagedFileError as error:
        names = ", ".join(_name(file) for file in part.state.base)
        raise DamagedFileError(f"{place.where}: {error} (its files are {names})") from error
    layouts = Layouts(loader(place.moved, place.where), place.native)
    if described is not None:
        layouts.take(described)
    return database, layouts


def clip(database: RocksDatabase, groups: range) -> None:
    """Delete the rows of all other key groups."""
    for range_ in (range(groups.start), range(groups.stop, len(_ALL_GROUPS))):
        if len(range_):
            database.delete_range(*all_of(range_))
    database.commit()


def copy_rows(source: RocksDatabase, target: RocksDatabase, groups: range, columns: int) -> None:
    """Copy the rows of key groups, including timers, from a database with the same layouts."""
    for row, value in source.rows(*all_of(groups)):
        target.put(row, value)
    for column in range(columns):
        for row, value in source.rows(*timers_of(column)):
            if time_and_group(row)[1] in groups:
                target.put(row, value)
    target.commit()


def load_part(part: FetchedKeyed, folder: Path, target: EntryLoader, place: RestoreScope) -> None:
    """Load the entries of a part into `target`. Raises `DamagedFileError`, `RestoreError`."""
    if part.state.kind != "rocksdb":
        for file in part.state.base:
            load_file(part, file, target, place)
        return
    database, layouts = open_files(part, folder, Memory(2**20, 2**23), place)
    try:
        for group in _common(part, place.groups):
            target.load(metas_of(layouts), entries(database, layouts, group, len(layouts.columns)))
    finally:
        database.close()
        shutil.rmtree(folder, ignore_errors=True)


def load_file(part: FetchedKeyed, file: StateFile, target: EntryLoader, place: RestoreScope) -> None:
    """Load a file of entries into `target`. Raises `DamagedFileError`, `RestoreError`."""
    saved = open_file(part, file, place.where, place.moved)
    target.load(saved.states, place.checked(saved.entries(place.groups)))


def merge_part(part: FetchedKeyed, folder: Path, into: tuple[RocksDatabase, Layouts], place: RestoreScope) -> bool:
    """Copy the rows of a part if its database has the same layouts and the current key format.

    Return whether the rows were copied. Raises `DamagedFileError`.
    """
    if not _is_of_today(part):
        return False
    database, layouts = open_files(part, folder, Memory(2**20, 2**23), place)
    try:
        same: bool = _without_times(layouts) == _without_times(into[1])
        if same:
            copy_rows(database, into[0], _common(part, place.groups), len(layouts.columns))
        return same
    finally:
        database.close()
        shutil.rmtree(folder, ignore_errors=True)


def _without_times(layouts: Layouts) -> Any:
    described = json.loads(layouts.to_bytes())
    return [[meta for meta, _ in versions] for versions in described["columns"]], described["layouts"]
