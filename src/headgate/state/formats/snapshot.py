"""The file format of keyed state, version 2: whole snapshots, and deltas with the changes since a snapshot.

::

    "HGKS" 0x02                                magic and version
    sections of pickled frames, one after another
    footer: JSON {"states": [...], "delta": bool, "sections": {name: [offset, length, crc32]}}
    u32 length of the footer, u32 crc32 of magic, version and footer, "HGKS"

A frame is a pickle (protocol 5) of a list of entries `[key group, key, value of state 0, value of state 1, ...]`. It
may hold the entries by columns instead: a tuple of lists, with the key groups, the keys, the values of state 0, and so
on. If all entries have one key group, its number replaces the list of groups. An entry without values, `[key group,
key]`, means that the key has no state any more.

A whole snapshot has a section for each key group, so a rescaled subtask reads only its own groups. Its section "*" has
entries of any group, which changed while the snapshot was taken. A delta has only the section "*". A restore applies
deltas in order after their snapshot; within a delta, removals come before values.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Final, final

from headgate.errors import DamagedFileError, RestoreError, SerializationError
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.unpickle import load

MAGIC: Final = b"HGKS"
VERSION: Final = 2
_TRAILER: Final = struct.Struct("<II4s")
ALL_GROUPS: Final = "*"
"""The section with entries of any key group."""
VALUES: Final = 2
"""Index of the first state's value in an entry."""

Entry = list[Any]


@final
class SnapshotWriter:
    """Collects the entries of a file and returns the bytes of the file."""

    __slots__ = ("_delta", "_frames", "_removed", "_states")

    def __init__(self, states: Sequence[StateMeta], *, delta: bool) -> None:
        self._states = tuple(states)
        self._delta = delta
        self._frames: dict[str, list[bytes]] = {}
        self._removed: list[Entry] = []

    def add(self, group: int, entries: list[Entry]) -> None:
        """Add entries, which must have one key group unless the file is a delta. They may change after the call.

        Raises `SerializationError` that names the state if a value cannot be pickled.
        """
        self._frames.setdefault(self._section(group), []).append(self._frame(entries))

    def add_columns(self, groups: int | list[int], keys: list[Any], columns: Sequence[list[Any]]) -> None:
        """Add entries by columns: the keys, and a list of values for each state. They may change after the call.

        `groups` is the key group of all entries, or a list with the key group of each. Raises `SerializationError` as
        `add` does.
        """
        section = self._section(groups) if isinstance(groups, int) else ALL_GROUPS
        frame = (groups, keys, *columns)
        try:
            data = pickle.dumps(frame, 5)
        except Exception as error:
            raise self._culprit(list(_rows(frame)), error) from error
        self._frames.setdefault(section, []).append(data)

    def remove(self, group: int, key: Any) -> None:
        """Note in a delta that the key has no state any more."""
        self._removed.append([group, key])

    def _section(self, group: int) -> str:
        return ALL_GROUPS if self._delta else str(group)

    def _frame(self, entries: list[Entry]) -> bytes:
        try:
            return pickle.dumps(entries, 5)
        except Exception as error:
            raise self._culprit(entries, error) from error

    def _culprit(self, entries: list[Entry], error: Exception) -> SerializationError:
        for _, key, *values in entries:
            for meta, value in zip(self._states, values, strict=True):
                try:
                    pickle.dumps(value, 5)
                except Exception:  # noqa: BLE001  # whatever a user's class raises
                    return SerializationError(
                        f"state {meta.name!r} of key {key!r} holds a {type(value).__name__} that cannot be pickled: "
                        f"{error}; keep plain data in state, and classes that a module or the main script "
                        "defines at top level"
                    )
        return SerializationError(f"the state cannot be pickled: {error}")

    def finish(self) -> list[bytes]:
        """Return the bytes of the file in pieces, and forget them. Call it once."""
        layout = FileLayout(self._states, delta=self._delta)
        if self._removed:
            self._frames[ALL_GROUPS] = [self._frame(self._removed), *self._frames.get(ALL_GROUPS, [])]
        pieces = [layout.begin()]
        for name in list(self._frames):
            pieces.append(layout.add(name, b"".join(self._frames.pop(name))))
        return [*pieces, layout.end()]


@final
class FileLayout:
    """The bytes around the frames of a file. Write the results of its methods in the order of the calls."""

    def __init__(self, states: Sequence[StateMeta], *, delta: bool) -> None:
        self._states = tuple(states)
        self._delta = delta
        self._header = MAGIC + bytes([VERSION])
        self._offset = len(self._header)
        self._sections: dict[str, list[int]] = {}

    def begin(self) -> bytes:
        """Return the first bytes of the file."""
        return self._header

    def add(self, section: str, frames: bytes) -> bytes:
        """Return the frames as bytes of a section: a new section, or the section of the last call."""
        offset, length, crc32 = self._sections.get(section, (self._offset, 0, 0))
        self._sections[section] = [offset, length + len(frames), zlib.crc32(frames, crc32)]
        self._offset += len(frames)
        return frames

    def end(self) -> bytes:
        """Return the last bytes of the file."""
        states = [meta.to_json() for meta in self._states]
        footer = json.dumps({"states": states, "delta": self._delta, "sections": self._sections}).encode()
        return footer + _TRAILER.pack(len(footer), zlib.crc32(footer, zlib.crc32(self._header)), MAGIC)


def _rows(frame: list[Entry] | tuple[Any, ...]) -> Iterable[Entry]:
    """Return the entries of a frame, which may be stored by columns."""
    if isinstance(frame, list):
        return frame
    groups, *columns = frame
    return map(list, zip(repeat(groups) if isinstance(groups, int) else groups, *columns))  # noqa: B905  # repeat() has no end


@final
class SavedState:
    """A file that was read: a whole snapshot or a delta."""

    def __init__(self, data: bytes, where: str, footer: dict[str, Any], moved: Mapping[str, str]) -> None:
        self.states = [StateMeta.from_json(state) for state in footer["states"]]
        self.is_delta: bool = footer["delta"]
        self._sections: dict[str, list[int]] = footer["sections"]
        self._data = data
        self._where = where
        self._moved = moved

    def entries(self, groups: range) -> Iterator[Entry]:
        """Yield the entries of these key groups in the order in which to apply them.

        Raises `DamagedFileError` for a damaged section, and `RestoreError` for objects of a missing class.
        """
        if not self.is_delta:
            for group in groups:
                yield from self._section(str(group))
        for entry in self._section(ALL_GROUPS):
            if entry[0] in groups:
                yield entry

    def _section(self, name: str) -> Iterator[Entry]:
        offset, length, crc32 = self._sections.get(name, (0, 0, 0))
        section = self._data[offset : offset + length]
        if len(section) != length or zlib.crc32(section) != crc32:
            what = "what changed is" if name == ALL_GROUPS else f"key group {name} is"
            raise DamagedFileError(f"{self._where}: {what} damaged; restore another checkpoint")
        stream = io.BytesIO(section)
        while stream.tell() < length:
            yield from _rows(load(stream, self._moved, self._where))


def decode(data: bytes, where: str, moved: Mapping[str, str]) -> SavedState:
    """Read a file. `where` names it in errors; `moved` maps the old names of moved classes to their new names.

    Raises `DamagedFileError`, and `RestoreError` for a version that this release cannot read.
    """
    start, end = len(MAGIC) + 1, len(data) - _TRAILER.size
    if end < start or data[: len(MAGIC)] != MAGIC:
        raise DamagedFileError(f"{where} is not a keyed snapshot, or only the beginning of one")
    length, crc32, magic = _TRAILER.unpack_from(data, end)
    footer = data[max(end - length, start) : end]
    if magic != MAGIC or len(footer) != length or zlib.crc32(footer, zlib.crc32(data[:start])) != crc32:
        raise DamagedFileError(f"{where} is damaged or incomplete; restore another checkpoint")
    if data[len(MAGIC)] != VERSION:
        raise RestoreError(f"{where} has format version {data[len(MAGIC)]}; this headgate reads version {VERSION}")
    return SavedState(data, where, json.loads(footer), moved)
