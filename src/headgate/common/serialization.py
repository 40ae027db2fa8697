"""Records as bytes: text schemas, and the encoder that file sinks write lines with."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from typing import Any, final

from headgate import unsupported

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


class Encoder(ABC):
    """Turns a record into the bytes that a row-wise file sink appends to its file."""

    @abstractmethod
    def encode(self, record: Any) -> bytes:
        """Return the bytes to append, with whatever separates records."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Return the encoder that writes `str(record)` as one line. Raises LookupError for an unknown charset.

        >>> Encoder.simple_string_encoder().encode((1, "a"))
        b"(1, 'a')\\n"
        """
        return _LineEncoder(codecs.lookup(charset_name).name)


@final
class _LineEncoder(Encoder):
    def __init__(self, charset: str) -> None:
        self._charset = charset

    def encode(self, record: Any) -> bytes:
        return f"{record}\n".encode(self._charset)


unsupported.guard(__name__, globals())
