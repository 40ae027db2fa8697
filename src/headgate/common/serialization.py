"""Records as bytes: schemas of messages, and the encoders that file sinks write with."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from typing import Any, final

from headgate import unsupported
from headgate.connectors.files.encoders import Encoder

__all__ = ["DeserializationSchema", "Encoder", "SerializationSchema", "SimpleStringSchema"]


class SerializationSchema(ABC):
    """Turns a record into the bytes of a message."""

    @abstractmethod
    def serialize(self, element: Any) -> bytes:
        """Return the record's bytes."""


class DeserializationSchema(ABC):
    """Turns the bytes of a message into a record."""

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """Return the message's record."""


@final
class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Records that are text.

    >>> SimpleStringSchema().serialize("a")
    b'a'
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = codecs.lookup(charset).name

    def serialize(self, element: str) -> bytes:
        return element.encode(self._charset)

    def deserialize(self, message: bytes) -> str:
        return message.decode(self._charset)


unsupported.guard(__name__, globals())
