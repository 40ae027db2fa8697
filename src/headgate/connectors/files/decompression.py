"""Kinds of compression that Arrow does not know, but Flink does: .xz and .deflate."""

from __future__ import annotations

import lzma
import zlib
from typing import Final, final

import pyarrow as pa

DAMAGE: Final = (lzma.LZMAError, zlib.error, EOFError)
"""What is raised for bytes that are not what the name of the file says."""

_BLOCK_BYTES: Final = 64 << 10


@final
class Unpacked:
    """What an .xz file holds."""

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
    """What a .deflate file holds, which is one stream of zlib's."""

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
