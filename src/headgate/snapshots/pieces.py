"""Pieces: the keyed state of an operator in a snapshot, some key groups at a time, so that no caller waits for all.

The files of a canonical savepoint are read directly. From any other snapshot, a few key groups are restored into a
backend, as a job with a much larger parallelism would restore them, and read from it as entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final, final

from headgate.checkpoint.manifest import OperatorManifest
from headgate.clock import SystemClock
from headgate.elements import SavepointFormat
from headgate.errors import HeadgateError
from headgate.snapshots.restorer import StateRestorer
from headgate.snapshots.sizes import Amount, amounts
from headgate.state.canonical.layout import SUFFIX, file_name
from headgate.state.canonical.reader import CanonicalFile
from headgate.state.files import FetchedKeyed, KeyedState, LocalFile
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import decode
from headgate.state.keyed.saved_files import SavedFile

SUBTASK_BYTES_MAX: Final = 256 * 2**20
"""The largest state of one subtask, in bytes, that is loaded into this process."""
_PIECE_MS: Final = 200.0
"""The time for a piece, in ms. A faster piece doubles the size of the next one."""


class StateTooLargeError(HeadgateError):
    """The state of a subtask is too large to load into this process."""


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """The state of one subtask in some key groups, as files of entries.

    The files are removed when the next piece is requested.
    """

    subtask: int
    groups: range
    files: list[SavedFile]

    def amounts(self) -> Iterator[tuple[StateMeta, Amount]]:
        """Yield each state with the amount of its entries. For a canonical file, the amount covers all key groups."""
        for file in self.files:
            yield from zip(file.states, amounts(file, self.groups), strict=True)


@final
class KeyedPieces:
    """The keyed state of one operator. Its methods block for a limited time for each piece.

    They raise `StateTooLargeError`, `DamagedFileError`, `RestoreError` and `StorageError`.
    """

    def __init__(self, restored: StateRestorer, operator: OperatorManifest, state: str | None = None) -> None:
        """`state` is the name of the only state to read; None reads all states."""
        self._restored = restored
        self._operator = operator
        self._prefix = "" if state is None else f"{file_name(state).removesuffix(SUFFIX)}."
        self._clock = SystemClock()
        self._numbers = count()

    @property
    def groups(self) -> range:
        """All key groups of the operator."""
        return range(self._operator.max_parallelism)

    @property
    def subtasks(self) -> set[int]:
        """The subtasks with keyed state. Each of their pieces has all of their states."""
        return {subtask for subtask, state in self._operator.subtasks.items() if state.keyed is not None}

    @property
    def groups_held(self) -> int:
        """The number of key groups that belong to subtasks with keyed state."""
        return sum(last + 1 - first for first, last in (keyed.key_groups for keyed in self._keyed()))

    @property
    def size_bytes(self) -> int:
        """The size of the files of keyed state."""
        return sum(handle.size_bytes for keyed in self._keyed() for handle in keyed.handles())

    @property
    def are_by_state(self) -> bool:
        """Whether each state has its own files."""
        return all(keyed.kind == "canonical" for keyed in self._keyed())

    def _keyed(self) -> list[KeyedState]:
        return [state.keyed for state in self._operator.subtasks.values() if state.keyed is not None]

    def of(self, groups: Collection[int]) -> Iterator[Piece]:
        """Yield the pieces of these key groups, ordered by subtask and key group."""
        for subtask, state in sorted(self._operator.subtasks.items()):
            if state.keyed is not None:
                first, last = state.keyed.key_groups
                own = [group for group in range(first, last + 1) if group in groups]
                if own:
                    yield from self._of_subtask(subtask, state.keyed, own)

    def _of_subtask(self, subtask: int, keyed: KeyedState, groups: list[int]) -> Iterator[Piece]:
        fetched = self._fetched(subtask, keyed)
        if keyed.kind == "canonical":
            where = self._restored.where(self._operator)
            files: list[SavedFile] = [
                CanonicalFile(source, f"{file.name} ({where})", self._restored.moved)
                for file, source in fetched.files.items()
            ]
            for run in _runs(groups):
                yield Piece(subtask, run, files)
            return
        for run in _runs(groups):
            yield from self._restored_pieces(subtask, fetched, run)

    def _restored_pieces(self, subtask: int, fetched: FetchedKeyed, groups: range) -> Iterator[Piece]:
        start, size = groups.start, 1
        while start < groups.stop:
            own = range(start, min(groups.stop, start + size))
            began_ms = self._clock.monotonic_ms()
            piece = Piece(subtask, own, [self._entries(subtask, fetched, own)])
            if self._clock.monotonic_ms() - began_ms < _PIECE_MS:
                size *= 2
            yield piece
            start = own.stop

    def _fetched(self, subtask: int, keyed: KeyedState) -> FetchedKeyed:
        if keyed.kind == "canonical":
            keyed = replace(keyed, base=tuple(file for file in keyed.base if file.name.startswith(self._prefix)))
        size_bytes = sum(handle.size_bytes for handle in keyed.handles())
        if size_bytes > SUBTASK_BYTES_MAX:
            raise StateTooLargeError(
                f"subtask {subtask} of {self._restored.where(self._operator)} has {size_bytes / 1e6:,.0f} MB of state, "
                f"but no more than {SUBTASK_BYTES_MAX / 1e6:,.0f} MB are read here: ask Spark SQL instead "
                "(headgate.savepoints.register), or `headgate state` on a machine with room for it"
            )
        return self._restored.fetched(self._restored.opened.store, keyed)

    def _entries(self, subtask: int, fetched: FetchedKeyed, groups: range) -> SavedFile:
        folder = self._restored.new_folder("piece")
        place = folder / f"entries-{next(self._numbers)}"
        with self._restored.backend(self._operator, subtask, fetched, groups) as backend:
            pending = backend.savepoint(self._restored.opened.manifest.checkpoint_id, SavepointFormat.CANONICAL)
            while not pending.advance():
                pass
            pending.store(LocalFile(place))
        return decode(_taken(place), self._restored.where(self._operator), self._restored.moved)


def _taken(path: Path) -> bytes:
    data = path.read_bytes()
    path.unlink()
    return data


def _runs(groups: list[int]) -> Iterator[range]:
    """Yield the runs of consecutive numbers.

    >>> list(_runs([1, 2, 3, 7]))
    [range(1, 4), range(7, 8)]
    """
    first = 0
    for at in range(1, len(groups) + 1):
        if at == len(groups) or groups[at] != groups[at - 1] + 1:
            yield range(groups[first], groups[at - 1] + 1)
            first = at
