"""Serializers of windows, which assigners of programs return: nothing here calls them, as windows are plain values."""

from __future__ import annotations

import struct
from typing import BinaryIO, Final, final

from headgate.functions.windows.window import GLOBAL_WINDOW, CountWindow, GlobalWindow, TimeWindow

_TIMES: Final = struct.Struct(">qq")
_ID: Final = struct.Struct(">q")


@final
class TimeWindowSerializer:
    """Writes a time window as its start and end, 8 bytes each."""

    def serialize(self, element: TimeWindow, stream: BinaryIO) -> None:
        """Write the window."""
        stream.write(_TIMES.pack(element.start, element.end))

    def deserialize(self, stream: BinaryIO) -> TimeWindow:
        """Read a window."""
        return TimeWindow(*_TIMES.unpack(stream.read(_TIMES.size)))


@final
class CountWindowSerializer:
    """Writes a count window as its number, 8 bytes."""

    def serialize(self, element: CountWindow, stream: BinaryIO) -> None:
        """Write the window."""
        stream.write(_ID.pack(element.id))

    def deserialize(self, stream: BinaryIO) -> CountWindow:
        """Read a window."""
        return CountWindow(*_ID.unpack(stream.read(_ID.size)))


@final
class GlobalWindowSerializer:
    """Writes the global window as 8 bytes without meaning."""

    def serialize(self, element: GlobalWindow, stream: BinaryIO) -> None:
        """Write the window."""
        stream.write(_ID.pack(0))

    def deserialize(self, stream: BinaryIO) -> GlobalWindow:
        """Read the window."""
        stream.read(_ID.size)
        return GLOBAL_WINDOW
