"""Window entries: converts the contents of panes to entries of single windows, for canonical savepoints.

The conversion may call functions of the program, so the loop does it: one key group after the other, from rows as of
the barrier. A local file keeps the entries until they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedRandom
from pathlib import Path
from typing import Any, Final, final

from headgate.errors import StorageError
from headgate.state.formats.codecs import pickled
from headgate.state.formats.snapshot import VALUES, Entry
from headgate.state.keyed.cells import FIRST, namespace_of
from headgate.state.keyed.panes import Namespace, Panes, SealedPane

_KEY: Final = 1
"""Index of the key in an entry."""


@final
class WindowEntries:
    """The entries of the panes as of the last barrier."""

    def __init__(self, panes: Panes, file: Path) -> None:
        self._panes = panes
        self._to_windows = panes.to_windows()
        self._contents = [column - FIRST + VALUES for column in panes.columns]
        self._timers = panes.timers - FIRST + VALUES
        self._file = file
        self._out: BufferedRandom | None = None
        self._frames: dict[int, list[tuple[int, int]]] = {}
        self._left: Iterator[None] = iter(())

    def begin(self, groups: Iterator[list[Entry]], states: int) -> None:
        """Begin. `groups` yields the entries of each key group; each entry has `states` states."""
        self._left = self._made(groups, states)

    def advance(self) -> bool:
        """Make some entries; return whether they were the last. Raises `StorageError`, and errors of functions."""
        try:
            return next(self._left, self) is self
        except OSError as error:
            raise StorageError(f"windows could not be written to {self._file}: {error}") from error

    def _made(self, groups: Iterator[list[Entry]], states: int) -> Iterator[None]:
        self._out = self._file.open("w+b")
        for found in groups:
            for piece in self._panes.pieces_of(self._to_windows(self._sealed(found))):
                assert piece.columns is not None
                nothing = [None] * len(piece.keys)
                columns = [piece.columns.get(column, nothing) for column in range(FIRST, FIRST + states)]
                group = found[0][0]
                entries = [[group, *entry] for entry in zip(piece.keys, *columns, strict=True)]
                self._write(group, pickled(entries))
                yield

    def _write(self, group: int, frame: bytes) -> None:
        assert self._out is not None
        self._frames.setdefault(group, []).append((self._out.tell(), len(frame)))
        self._out.write(frame)

    def _sealed(self, found: list[Entry]) -> list[SealedPane]:
        """Return the panes of these entries."""
        values: dict[Namespace, dict[Any, Any]] = {}
        timers: dict[Namespace, dict[Any, Any]] = {}
        for entry in found:
            if self._is_of_pane(entry):
                _, key, namespace = entry[_KEY]
                contents = [entry[place] for place in self._contents]
                values.setdefault(namespace, {})[key] = contents[0] if len(contents) == 1 else tuple(contents)
                timers.setdefault(namespace, {})[key] = entry[self._timers]
        return [SealedPane(namespace, timers[namespace].get, [each]) for namespace, each in values.items()]

    def _is_of_pane(self, entry: Entry) -> bool:
        return len(entry) > VALUES and namespace_of(entry[_KEY]) is not None and entry[self._contents[0]] is not None

    def take_out(self, entry: Entry) -> None:
        """Set the values of an entry that belong to a pane to None."""
        if self._is_of_pane(entry):
            for place in (*self._contents, self._timers):
                entry[place] = None

    def frames(self, group: int) -> Iterator[bytes]:
        """Yield the pickled entries of a key group. Blocks."""
        for start, length in self._frames.get(group, ()):
            assert self._out is not None
            self._out.seek(start)
            yield self._out.read(length)

    def close(self) -> None:
        """Close and remove the file."""
        if self._out is not None:
            self._out.close()
        self._file.unlink(missing_ok=True)
