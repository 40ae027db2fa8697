"""The file format of a keyed snapshot, version 1.

::

    "HGKS" 0x01                                magic and version
    frames of key group a, frames of key group b, ...
    footer: JSON {"states": [[name, kind, type], ...], "groups": {group: [offset, length, crc32]}}
    u32 length of the footer, u32 crc32 of magic, version and footer, "HGKS"

A frame is a pickle (protocol 5) of a list of entries `(key, value of state 0, value of state 1, ...)`. A key group can
be read alone, by its offset, so a rescaled subtask reads no more than it owns.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, final

from headgate.errors import DamagedFileError, RestoreError, SerializationError

MAGIC: Final = b"HGKS"
VERSION: Final = 1
_TRAILER: Final = struct.Struct("<II4s")
_IMMUTABLE: Final = frozenset({int, float, str, bytes, bool, type(None), complex})

Entry = tuple[Any, ...]


class StateMeta(NamedTuple):
    """What a snapshot knows of a state: its name, kind and type."""

    name: str
    kind: str
    type: str

    def describe(self) -> str:
        """Return kind and type as words of a message."""
        return f"{self.kind} state of {self.type}"


@final
class SnapshotWriter:
    """Collects the entries of a snapshot and lays out its file."""

    __slots__ = ("_frames", "_loose", "_states")

    def __init__(self, states: tuple[StateMeta, ...]) -> None:
        self._states = states
        self._frames: dict[int, list[bytes]] = {}
        self._loose: dict[int, list[Entry]] = {}

    def add(self, group: int, entries: list[Entry]) -> None:
        """Add entries of a key group. Raises `SerializationError` naming the state that cannot be pickled."""
        self._frames.setdefault(group, []).append(self._frame(entries))

    def add_one(self, group: int, entry: Entry) -> None:
        """Add one entry, whose values may change after this call."""
        if all(_is_immutable(value) for value in entry):
            self._loose.setdefault(group, []).append(entry)
        else:
            self.add(group, [entry])

    def _frame(self, entries: list[Entry]) -> bytes:
        try:
            return pickle.dumps(entries, 5)
        except Exception as error:
            raise self._culprit(entries, error) from error

    def _culprit(self, entries: list[Entry], error: Exception) -> SerializationError:
        for key, *values in entries:
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

    def settle(self, entries_max: int) -> bool:
        """Pickle about so many of the entries of `add_one` that are not yet pickled; return whether all are."""
        while self._loose and entries_max > 0:
            group, entries = self._loose.popitem()
            if len(entries) > entries_max:
                self._loose[group] = entries[entries_max:]
            self.add(group, entries[:entries_max])
            entries_max -= max(min(len(entries), entries_max), 32)
        return not self._loose

    def finish(self) -> list[bytes]:
        """Return the file's bytes in pieces, once `settle` has returned True."""
        header = MAGIC + bytes([VERSION])
        pieces = [header]
        offset = len(header)
        groups = {}
        for group in sorted(self._frames):
            section = b"".join(self._frames[group])
            groups[str(group)] = [offset, len(section), zlib.crc32(section)]
            pieces.append(section)
            offset += len(section)
        footer = json.dumps({"states": self._states, "groups": groups}).encode()
        return [*pieces, footer, _TRAILER.pack(len(footer), zlib.crc32(footer, zlib.crc32(header)), MAGIC)]


def _is_immutable(value: Any) -> bool:
    kind = type(value)
    return kind in _IMMUTABLE or (kind is tuple and all(_is_immutable(part) for part in value))


@final
class SavedState:
    """A snapshot file that has been read."""

    def __init__(
        self, data: bytes, where: str, states: list[StateMeta], groups: dict[int, tuple[int, int, int]]
    ) -> None:
        self.states = states
        self._data = data
        self._where = where
        self._groups = groups

    def groups(self) -> list[int]:
        """Return the key groups that the file holds, in order."""
        return sorted(self._groups)

    def entries(self, group: int) -> Iterator[Entry]:
        """Yield the entries of a key group."""
        offset, length, crc32 = self._groups[group]
        section = self._data[offset : offset + length]
        if len(section) != length or zlib.crc32(section) != crc32:
            raise DamagedFileError(f"{self._where}: key group {group} is damaged; restore another checkpoint")
        stream = io.BytesIO(section)
        while stream.tell() < length:
            yield from self._load(stream, group)

    def _load(self, stream: io.BytesIO, group: int) -> list[Entry]:
        try:
            entries: list[Entry] = pickle.load(stream)  # noqa: S301  # our own storage, and the checksum was right
        except (AttributeError, ImportError) as error:
            raise RestoreError(
                f"{self._where}: key group {group} holds objects of a class that is not there any more ({error}); "
                "define it under its old name again"
            ) from error
        return entries


def decode(data: bytes, where: str) -> SavedState:
    """Read a snapshot file; `where` names it in errors. Raises `DamagedFileError`."""
    start, end = len(MAGIC) + 1, len(data) - _TRAILER.size
    if end < start or data[: len(MAGIC)] != MAGIC:
        raise DamagedFileError(f"{where} is not a keyed snapshot, or only the beginning of one")
    length, crc32, magic = _TRAILER.unpack_from(data, end)
    footer = data[max(end - length, start) : end]
    if magic != MAGIC or len(footer) != length or zlib.crc32(footer, zlib.crc32(data[:start])) != crc32:
        raise DamagedFileError(f"{where} is damaged or incomplete; restore another checkpoint")
    if data[len(MAGIC)] != VERSION:
        raise RestoreError(f"{where} has format version {data[len(MAGIC)]}; this headgate reads version {VERSION}")
    content = json.loads(footer)
    states = [StateMeta(*state) for state in content["states"]]
    return SavedState(data, where, states, {int(group): tuple(place) for group, place in content["groups"].items()})
