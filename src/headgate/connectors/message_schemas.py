"""Schemas that convert records to the bytes of messages, and back."""

from __future__ import annotations

import codecs
import json
from abc import ABC, abstractmethod
from typing import Any, final

from headgate.types.json_text import plain_json
from headgate.types.record_copies import BY_VALUE
from headgate.types.type_information import TypeInformation


class SerializationSchema(ABC):
    """Turns a record into the bytes of a message."""

    @abstractmethod
    def serialize(self, element: Any) -> bytes:
        """Return the record's bytes."""

    def serialize_all(self, elements: list[Any]) -> list[bytes]:
        """Return what `serialize` returns for each record. Override it if many records are faster together."""
        return list(map(self.serialize, elements))


class DeserializationSchema(ABC):
    """Turns the bytes of a message into a record."""

    produced_type: TypeInformation | None = None
    """The type that all records are of, None where it is not known."""

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """Return the message's record, or None to leave the message out."""

    def deserialize_all(self, messages: list[bytes]) -> list[Any]:
        """Return what `deserialize` returns for each message. Override it if many messages are faster together.

        It may raise any error for a broken message: the source then calls `deserialize` for each message to find it.
        """
        return BY_VALUE.mapped(self.deserialize, iter(messages))[0]

    def deserialize_tombstone(self, key: bytes | None) -> Any:
        """Return the record of a message that has no value and so deletes `key`, or None to leave the message out.

        Called only if a source is set to deliver such messages, for instance a `KafkaSource` with `Tombstones.DELIVER`.

        >>> class Prices(DeserializationSchema):
        ...     def deserialize(self, message):
        ...         return json.loads(message)
        ...     def deserialize_tombstone(self, key):
        ...         return {"product": key.decode(), "price": None}
        >>> Prices().deserialize_tombstone(b"tea")
        {'product': 'tea', 'price': None}
        """
        raise NotImplementedError(f"{type(self).__name__} makes no records of tombstones: define deserialize_tombstone")


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
    """Records that are values of JSON: dictionaries, lists, texts, numbers. Rows are written as well.

    Values that JSON does not have, such as dates, decimals and bytes, are written as text, as in lines of JSON.

    >>> JsonSchema().serialize({"name": "Zoë", "age": 7})
    b'{"name":"Zo\\xc3\\xab","age":7}'
    >>> JsonSchema().deserialize(b'{"name": "Ada"}')
    {'name': 'Ada'}
    """

    def serialize(self, element: Any) -> bytes:
        return plain_json(element).encode()

    def deserialize(self, message: bytes) -> Any:
        return json.loads(message)


@final
class RowFieldExtractorSchema(SerializationSchema):
    """Writes one field of a row, whose value is bytes, as the key or the value of a message. None becomes no bytes.

    >>> RowFieldExtractorSchema(1).serialize(("user", b"clicked"))
    b'clicked'
    """

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ValueError(f"the index of a field must be 0 or more, not {field_index}")
        self._index = field_index

    def serialize(self, element: Any) -> bytes:
        value = element[self._index]
        if value is None:
            return b""
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise TypeError(
            f"field {self._index} is {value!r:.100}, a {type(value).__name__} and not bytes: encode it in a map()"
        )
