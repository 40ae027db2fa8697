"""Schemas of messages: fields of rows as keys and values, and messages that are no records."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Message

from headgate.common import Row
from headgate.common.serialization import DeserializationSchema, RowFieldExtractorSchema, SerializationSchema
from headgate.connectors.kafka.deserialization import BrokenMessages, KafkaRecordDeserializationSchema, make_records
from headgate.connectors.kafka.serialization import KafkaRecordSerializationSchema
from headgate.errors import SourceError


def test_a_field_of_a_row_becomes_the_key_or_the_value_of_a_message() -> None:
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    builder.set_key_serialization_schema(RowFieldExtractorSchema(0))
    schema = builder.set_value_serialization_schema(RowFieldExtractorSchema(1)).build()
    message = schema.serialize(Row(b"user", bytearray(b"clicked")))
    assert message is not None
    assert (message.key, message.value) == (b"user", b"clicked")


def test_a_field_that_is_none_is_no_bytes_and_any_other_is_refused() -> None:
    assert RowFieldExtractorSchema(0).serialize(Row(None)) == b""
    with pytest.raises(TypeError, match=r"field 0 is 'x', a str and not bytes"):
        RowFieldExtractorSchema(0).serialize(Row("x"))
    with pytest.raises(IndexError):
        RowFieldExtractorSchema(1).serialize(Row(b"x"))
    with pytest.raises(ValueError, match="-1"):
        RowFieldExtractorSchema(-1)


class Evens(DeserializationSchema):
    """Numbers; odd ones are left out."""

    def deserialize(self, message: bytes) -> int | None:
        number = int(message)
        return None if number % 2 else number


class Batches(SerializationSchema):
    """Counts how often it is called."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def serialize(self, element: Any) -> bytes:
        return self.serialize_all([element])[0]

    def serialize_all(self, elements: list[Any]) -> list[bytes]:
        self.calls.append(len(elements))
        return [str(element).encode() for element in elements]


def messages(*values: bytes) -> list[Message]:
    return [Message("t", 0, offset, b"", value) for offset, value in enumerate(values)]


def made(broken: BrokenMessages, *values: bytes) -> tuple[list[Any], list[int | None], int]:
    left_out: list[int] = []
    schema = KafkaRecordDeserializationSchema.value_only(Evens())
    records, good = make_records(messages(*values), schema, broken, lambda _, count: left_out.append(count))
    return records, [message.offset() for message in good], sum(left_out)


def test_a_message_whose_record_is_none_is_left_out_and_not_broken() -> None:
    assert made(BrokenMessages.FAIL, b"0", b"1", b"2") == ([0, 2], [0, 2], 0)
    assert made(BrokenMessages.SKIP, b"0", b"1", b"x", b"4") == ([0, 4], [0, 3], 1)
    assert made(BrokenMessages.FAIL, b"1", b"3") == ([], [], 0)
    with pytest.raises(SourceError, match="offset 1"):
        made(BrokenMessages.FAIL, b"0", b"x")


def test_a_schema_is_called_once_for_a_batch() -> None:
    keys, values = Batches(), Batches()
    builder = KafkaRecordSerializationSchema.builder().set_topic("t").set_key_serialization_schema(keys)
    schema = builder.set_value_serialization_schema(values).build()
    assert schema.batches([1, 2]) == {"t": [{"key": b"1", "value": b"1"}, {"key": b"2", "value": b"2"}]}  # type: ignore[attr-defined]
    assert (keys.calls, values.calls) == ([2], [2])
