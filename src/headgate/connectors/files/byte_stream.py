"""The bytes of a file from any offset, decompressed by its suffix (.xz and .deflate without Arrow)."""

from __future__ import annotations

import lzma
import zlib
from typing import Final, final

import pyarrow as pa

from headgate.connectors.files.file_errors import UnreadableFileError
from headgate.connectors.files.places import (
    FAILURES,
    FoundFile,
    PartOfFile,
    Place,
    Stamp,
    is_told_by_stamp,
    list_stamped_files,
    look_at,
)
from headgate.errors import SourceError

DAMAGE: Final = (lzma.LZMAError, zlib.error, EOFError)
"""Errors of decompression: the bytes do not have the format that the file's suffix names."""

_BLOCK_BYTES: Final = 64 << 10


@final
class Unpacked:
    """The decompressed bytes of an .xz file."""

    def __init__(self, packed: pa.NativeFile) -> None:
        self._packed = packed
        self._file = lzma.LZMAFile(packed)  # noqa: SIM115  # closed by `close`

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`, b"" at the end."""
        return self._file.read(size)

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._file.close()
        self._packed.close()


@final
class Inflated:
    """The decompressed bytes of a .deflate file, which is one zlib stream."""

    def __init__(self, packed: pa.NativeFile) -> None:
        self._packed = packed
        self._inflate = zlib.decompressobj()

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`, b"" at the end."""
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._packed.read(_BLOCK_BYTES)
            data = self._inflate.decompress(packed, size)
            if data:
                return data
            if not packed:
                raise EOFError("the file ends too early")
        return b""

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._packed.close()


BLOCK_BYTES: Final = 256 << 10
_SKIP_BYTES: Final = 4 << 20
_CODECS: Final = {".gz": "gzip", ".gzip": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_UNPACKED: Final = {".xz": Unpacked, ".deflate": Inflated}
"""Readers of compressed files that Arrow does not decompress, by suffix."""
_UNREADABLE: Final = frozenset([".snappy", ".lz4", ".lzo", ".lzo_deflate", ".br", ".zip", ".7z"])
"""Suffixes of compressed files that are refused, because their bytes would be read as text."""


def is_compressed(place: Place) -> bool:
    """Return whether the file's suffix is one of compressed files."""
    return _ending(place) in _CODECS.keys() | _UNPACKED.keys() | _UNREADABLE


def _ending(place: Place) -> str:
    return place.path[place.path.rfind(".") :].lower()


def where_it_is(part: PartOfFile, *, may_grow: bool = False) -> Place:
    """Return the current place of a split's file: its known place, or after a move another one in the folder. Blocks.

    Raises `UnreadableFileError` if the file is gone or has changed. With `may_grow` the file may have become larger.
    """
    place, size_bytes, stamp = part.place, part.size_bytes, getattr(part, "stamp", None)
    try:
        found = look_at(place, "")
        if stamp is not None and not _is_there(found, size_bytes, stamp):
            moved = _moved(place, size_bytes, stamp)
            if moved is not None:
                return moved
    except FAILURES as error:
        raise SourceError(f"cannot open {str(place)!r}: {error}") from error
    if found is None:
        raise UnreadableFileError(
            f"the file {str(place)!r} is gone, or this host does not see it; files must be shared"
        )
    if found.size_bytes < size_bytes or (found.size_bytes > size_bytes and not may_grow):
        raise UnreadableFileError(
            f"{str(place)!r} had {size_bytes} bytes when it was found and has {found.size_bytes} now; "
            "files must not change while a job reads them"
        )
    if found.size_bytes == size_bytes and stamp is not None and not _is_there(found, size_bytes, stamp):
        raise UnreadableFileError(
            f"{str(place)!r} was written again since it was found: its modification time differs; files must not "
            "change while a job reads them"
        )
    return place


def _is_there(found: FoundFile | None, size_bytes: int, stamp: Stamp) -> bool:
    """Return whether a path still has the file that was found there, unchanged or with bytes appended."""
    if found is None or found.stamp is None:
        return found is not None
    if found.size_bytes == size_bytes:
        return found.stamp.mtime_ns == stamp.mtime_ns
    return found.size_bytes > size_bytes and found.stamp.inode == stamp.inode


def _moved(place: Place, size_bytes: int, stamp: Stamp) -> Place | None:
    """Return the place of the file in the monitored folder that has this size and stamp, None if there is none."""
    file = FoundFile(place, size_bytes, stamp)
    if not is_told_by_stamp(file) or stamp.folder == place.path:
        return None
    everywhere = list_stamped_files(Place(place.root, stamp.folder), SourceError)
    return next((own.place for own in everywhere if own.version == file.version), None)


@final
class _Packed:
    """The compressed bytes of a file. `has_failed`: reading raised an error, so the bytes may not be damaged."""

    closed = False

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self.has_failed = False

    def read(self, size: int = -1) -> bytes:
        self.has_failed = True
        data: bytes = self._stream.read(size)
        self.has_failed = False
        return data

    def close(self) -> None:
        self._stream.close()
        self.closed = True


@final
class FileByteStream:
    """The bytes from `start` up to `limit` (None: the end of the file). Offsets are after decompression.

    A compressed file can only be read from its beginning. Before the first `read`, call `skip` until it returns False:
    each call decompresses a limited number of bytes, so that a far start does not block for long.
    """

    def __init__(self, place: Place, start: int, limit: int | None) -> None:
        self._place = place
        self._ahead = 0
        self._left = None if limit is None else limit - start
        self._packed: _Packed | None = None
        if _ending(place) in _UNREADABLE:
            raise UnreadableFileError(
                f"{str(place)!r} has a compression that is not supported, by its suffix {_ending(place)!r}: decompress "
                f"it, or compress it as one of {', '.join(map(repr, _CODECS | _UNPACKED))}"
            )
        try:
            if is_compressed(place):
                self._packed = _Packed(place.system.open_input_stream(place.path, compression=None))
                self._file = _unpacked(place, self._packed)
                self._ahead = start
            else:
                self._file = place.system.open_input_file(place.path)
                self._file.seek(start)
        except FAILURES as error:
            kind = UnreadableFileError if isinstance(error, FileNotFoundError) else SourceError
            raise kind(f"cannot open {str(place)!r}: {error}") from error

    def skip(self) -> bool:
        """Read and drop some bytes before the start. Return False if the start is reached already."""
        if not self._ahead:
            return False
        passed = len(self._read(min(self._ahead, _SKIP_BYTES)))
        if not passed:
            raise UnreadableFileError(
                f"{str(self._place)!r} has become shorter while the job ran; files must not change"
            )
        self._ahead -= passed
        return True

    def read(self, size: int = BLOCK_BYTES) -> bytes:
        """Return the next bytes, at most `size`, b"" at the end."""
        if self._left is None:
            return self._read(size)
        data = self._read(min(size, self._left))
        self._left -= len(data)
        return data

    def _read(self, size: int) -> bytes:
        try:
            data: bytes = self._file.read(size)
        except (*FAILURES, *DAMAGE) as error:
            is_damaged = self._packed is not None and not self._packed.has_failed
            kind = UnreadableFileError if is_damaged else SourceError
            raise kind(f"cannot read {str(self._place)!r}: {error}") from error
        return data

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._file.close()


def _unpacked(place: Place, packed: _Packed) -> pa.NativeFile | Unpacked | Inflated:
    ending = _ending(place)
    if ending in _UNPACKED:
        return _UNPACKED[ending](packed)
    return pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), _CODECS[ending])
