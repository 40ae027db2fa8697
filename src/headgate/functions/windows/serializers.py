"""Serializers of windows, for assigners that PyFlink requires to return one. headgate calls none of them."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from typing import BinaryIO, Final, Generic, TypeVar, final

from headgate.functions.windows.window import GLOBAL_WINDOW, CountWindow, GlobalWindow, TimeWindow

_TIMES: Final = struct.Struct(">qq")
_ID: Final = struct.Struct(">q")


T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes values of a type as bytes, and reads them."""

    @abstractmethod
    def serialize(self, element: T, stream: BinaryIO) -> None:
        """Write a value."""

    @abstractmethod
    def deserialize(self, stream: BinaryIO) -> T:
        """Read a value."""


@final
class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Writes a time window as its start and end, 8 bytes each."""

    def serialize(self, element: TimeWindow, stream: BinaryIO) -> None:
        stream.write(_TIMES.pack(element.start, element.end))

    def deserialize(self, stream: BinaryIO) -> TimeWindow:
        return TimeWindow(*_TIMES.unpack(stream.read(_TIMES.size)))


@final
class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Writes a count window as its number, 8 bytes."""

    def serialize(self, element: CountWindow, stream: BinaryIO) -> None:
        stream.write(_ID.pack(element.id))

    def deserialize(self, stream: BinaryIO) -> CountWindow:
        return CountWindow(*_ID.unpack(stream.read(_ID.size)))


@final
class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Writes the global window as 8 bytes without meaning."""

    def serialize(self, element: GlobalWindow, stream: BinaryIO) -> None:
        stream.write(_ID.pack(0))

    def deserialize(self, stream: BinaryIO) -> GlobalWindow:
        stream.read(_ID.size)
        return GLOBAL_WINDOW
