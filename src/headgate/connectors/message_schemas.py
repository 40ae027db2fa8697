"""Records as the bytes of messages, as message brokers carry them."""

from __future__ import annotations

import codecs
import json
from abc import ABC, abstractmethod
from typing import Any, Final, final


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


@final
class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Records that are bytes already."""

    def serialize(self, element: bytes) -> bytes:
        return element

    def deserialize(self, message: bytes) -> bytes:
        return message


@final
class JsonSchema(SerializationSchema, DeserializationSchema):
    """Records that are values of JSON: dictionaries, lists, texts, numbers.

    >>> JsonSchema().serialize({"name": "Zoë", "age": 7})
    b'{"name":"Zo\\xc3\\xab","age":7}'
    >>> JsonSchema().deserialize(b'{"name": "Ada"}')
    {'name': 'Ada'}
    """

    def serialize(self, element: Any) -> bytes:
        return _encode(element).encode()

    def deserialize(self, message: bytes) -> Any:
        return json.loads(message)


_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
