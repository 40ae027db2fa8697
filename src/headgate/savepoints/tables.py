"""Tables: the keyed state of a snapshot as files of the canonical format, for snapshots of any kind.

The files of a canonical savepoint are fetched. Any other snapshot is restored into a backend, subtask by subtask, and
written once in the canonical format, into a temporary folder.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count, zip_longest
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import OperatorManifest
from headgate.checkpoint.restore.snapshots import OpenedSnapshot
from headgate.checkpoint.store import CheckpointStore
from headgate.elements import SavepointFormat
from headgate.ids import Attempt
from headgate.runtime.slot_storage.savepoint_writers import CanonicalWriter, SavepointStateWriter, SavepointTerms
from headgate.snapshots.restorer import StateRestorer
from headgate.state.canonical.layout import SUFFIX, file_name
from headgate.state.canonical.reader import CanonicalFile
from headgate.state.canonical.writer import CanonicalTable
from headgate.state.files import FileHandle, KeyedState, StateFile
from headgate.types.typeinfo import TypeInformation

_ATTEMPT: Final = Attempt(1)


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """The keyed state of one subtask in the canonical format, and the store with its files."""

    store: CheckpointStore
    keyed: KeyedState


@final
class KeyedTables:
    """The tables of a snapshot's keyed states. Its methods block. They raise `DamagedFileError`, `RestoreError`."""

    def __init__(self, opened: OpenedSnapshot, moved: Mapping[str, str]) -> None:
        self.store = opened.store
        self._opened = opened
        self._moved = dict(moved)
        self._folder = Path(mkdtemp(prefix="headgate-savepoint-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._numbers = count()
        self._own = FileSystemStore.open_folder(str(self._new_folder("made")))
        self._restored = StateRestorer(opened, self._moved, self._new_folder)
        self._made: dict[tuple[str, int], KeyedState] = {}
        self._files: dict[tuple[str, str], list[CanonicalFile]] = {}

    def close(self) -> None:
        """Remove fetched and converted files. Tables that were read before stay usable."""
        self._files.clear()
        self._remove()

    # --- parts

    def _part(self, operator: OperatorManifest, subtask: int) -> _Part | None:
        """Return the keyed state of a subtask, None when it has none."""
        state = operator.subtasks.get(subtask)
        if state is None or state.keyed is None:
            return None
        if state.keyed.kind == "canonical":
            return _Part(self.store, state.keyed)
        place = (operator.uid, subtask)
        if place not in self._made:
            self._made[place] = self._convert(operator, subtask, state.keyed)
        return _Part(self._own, self._made[place])

    def _convert(self, operator: OperatorManifest, subtask: int, keyed: KeyedState) -> KeyedState:
        files = SavepointStateWriter(self._own, paths.Writer(_ATTEMPT, operator.uid, subtask), inline_bytes=0)
        terms = SavepointTerms(
            open_store=FileSystemStore.open_folder,
            scratch=lambda: self._new_folder("scratch"),
            inline_bytes=0,
            moved_classes=self._moved,
        )
        first, last = keyed.key_groups
        fetched = self._restored.fetched(self.store, keyed)
        with self._restored.backend(operator, subtask, fetched, range(first, last + 1)) as backend:
            pending = backend.savepoint(self._opened.manifest.checkpoint_id, SavepointFormat.CANONICAL)
            while not pending.advance():
                pass
            return CanonicalWriter(files, terms).write_keyed(pending)

    def _new_folder(self, name: str) -> Path:
        folder = self._folder / f"{name}-{next(self._numbers)}"
        folder.mkdir()
        return folder

    # --- tables

    def all_files(self, operator: OperatorManifest) -> dict[str, list[CanonicalFile]]:
        """Return the files of all states that have values, by name."""
        found: dict[str, list[CanonicalFile]] = {}
        for _, file in self._opened_files(operator, ""):
            found.setdefault(file.facts.meta.name, []).append(file)
        return found

    def files(self, operator: OperatorManifest, state: str) -> list[CanonicalFile]:
        """Return the files of a state, all with the same types of columns; none when it has no values."""
        place = (operator.uid, state)
        if place not in self._files:
            self._files[place] = self._alike([file for _, file in self._files_as_they_are(operator, state)])
        return self._files[place]

    def places(self, operator: OperatorManifest, state: str) -> list[str] | None:
        """Return the locations of a state's files, for other processes.

        None if the state is not in files of a canonical savepoint, or if the files have different types.
        """
        if any(state.keyed is not None and state.keyed.kind != "canonical" for state in operator.subtasks.values()):
            return None
        found = self._files_as_they_are(operator, state)
        handles = [file.handle for file, _ in found]
        if len({_types(file) for _, file in found}) != 1:
            return None
        paths = [handle.path for handle in handles if isinstance(handle, FileHandle)]
        return list(map(self.store.locate, paths)) if len(paths) == len(handles) else None

    def files_of_state(self, operator: OperatorManifest, state: str, subtask: int) -> list[CanonicalFile]:
        """Return one subtask's files of a state. Their columns may have different types."""
        found = self.files_of(operator, subtask, _prefix(state))
        return [file for _, file in found if file.facts.meta.name == state]

    def _files_as_they_are(self, operator: OperatorManifest, state: str) -> list[tuple[StateFile, CanonicalFile]]:
        found = self._opened_files(operator, _prefix(state))
        return [(stored, file) for stored, file in found if file.facts.meta.name == state]

    def _opened_files(self, operator: OperatorManifest, prefix: str) -> Iterator[tuple[StateFile, CanonicalFile]]:
        for subtask in sorted(operator.subtasks):
            yield from self.files_of(operator, subtask, prefix)

    def files_of(
        self, operator: OperatorManifest, subtask: int, prefix: str = ""
    ) -> Iterator[tuple[StateFile, CanonicalFile]]:
        """Yield the files of a subtask whose names begin with `prefix`."""
        part = self._part(operator, subtask)
        if part is None:
            return
        base = tuple(file for file in part.keyed.base if file.name.startswith(prefix))
        fetched = self._restored.fetched(part.store, replace(part.keyed, base=base))
        for file, source in fetched.files.items():
            place = f"{getattr(file.handle, 'path', file.name)} ({self._restored.where(operator)})"
            yield file, CanonicalFile(source, place, self._moved)

    def _alike(self, files: list[CanonicalFile]) -> list[CanonicalFile]:
        """Return the files, merged into one new file if the types of their columns differ."""
        if len(set(map(_types, files))) <= 1:
            return files
        meta = files[0].facts.meta
        with CanonicalTable(meta, self._new_folder("merged") / file_name(meta.name)) as table:
            # Alternate between the files, so that the first rows have the types of all files.
            for entry in filter(None, chain.from_iterable(zip_longest(*(file.entries(ALL_GROUPS) for file in files)))):
                table.add(*entry)
            table.flush()
        return [CanonicalFile(table.path, table.path.name, self._moved)]


ALL_GROUPS: Final = range(2**15)
"""No job has more key groups."""


def _prefix(state: str) -> str:
    return f"{file_name(state).removesuffix(SUFFIX)}."


def _types(file: CanonicalFile) -> tuple[TypeInformation | None, ...]:
    return file.facts.key, file.facts.namespace, file.facts.value
