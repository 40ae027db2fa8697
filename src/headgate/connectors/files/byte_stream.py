"""The bytes of a file from any offset on, decompressed where its name says so."""

from __future__ import annotations

from typing import Final, final

import pyarrow as pa

from headgate.connectors.files.decompression import DAMAGE, Inflated, Unpacked
from headgate.connectors.files.places import FAILURES, Place
from headgate.errors import SourceError

BLOCK_BYTES: Final = 256 << 10
_SKIP_BYTES: Final = 4 << 20
_CODECS: Final = {".gz": "gzip", ".gzip": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_UNPACKED: Final = {".xz": Unpacked, ".deflate": Inflated}
"""What Arrow does not decompress."""


def is_compressed(place: Place) -> bool:
    """Return whether the file is compressed, by its name."""
    return _ending(place) in _CODECS.keys() | _UNPACKED.keys()


def _ending(place: Place) -> str:
    return place.path[place.path.rfind(".") :].lower()


def check_unchanged(place: Place, size_bytes: int, *, may_grow: bool = False) -> None:
    """Raise `SourceError` unless the file has as many bytes as when it was found, or, if it may grow, more; blocks."""
    try:
        info = place.system.get_file_info(place.path)
    except FAILURES as error:
        raise SourceError(f"cannot open {str(place)!r}: {error}") from error
    if not info.is_file:
        raise SourceError(f"the file {str(place)!r} is gone, or this host does not see it; files must be shared")
    if info.size < size_bytes or (info.size > size_bytes and not may_grow):
        raise SourceError(
            f"{str(place)!r} had {size_bytes} bytes when it was found and has {info.size} now; "
            "files must not change while a job reads them"
        )


@final
class FileByteStream:
    """The bytes from `start` on, up to `limit`, or to the end of the file for None. Offsets are after decompression.

    What is compressed has no middle to start from: call `skip` until it returns False before the first `read`, so that
    a far start does not take one long call.
    """

    def __init__(self, place: Place, start: int, limit: int | None) -> None:
        self._place = place
        self._ahead = 0
        self._left = None if limit is None else limit - start
        try:
            if is_compressed(place):
                self._file = _open_compressed(place)
                self._ahead = start
            else:
                self._file = place.system.open_input_file(place.path)
                self._file.seek(start)
        except FAILURES as error:
            raise SourceError(f"cannot open {str(place)!r}: {error}") from error

    def skip(self) -> bool:
        """Go some way towards the start; return whether there was any way to go."""
        if not self._ahead:
            return False
        passed = len(self._read(min(self._ahead, _SKIP_BYTES)))
        if not passed:
            raise SourceError(f"{str(self._place)!r} has become shorter while the job ran; files must not change")
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
            raise SourceError(f"cannot read {str(self._place)!r}: {error}") from error
        return data

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._file.close()


def _open_compressed(place: Place) -> pa.NativeFile | Unpacked | Inflated:
    ending = _ending(place)
    stream = place.system.open_input_stream(place.path, compression=_CODECS.get(ending))
    return _UNPACKED[ending](stream) if ending in _UNPACKED else stream
