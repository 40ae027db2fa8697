"""Messages without a value, which delete a key: left out and counted, or made into records of their keys."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from confluent_kafka import Message

from headgate.common import JsonSchema, Row, SimpleStringSchema, Types
from headgate.common.serialization import DeserializationSchema
from headgate.connectors.kafka.deserialization import make_records
from headgate.datastream.connectors.kafka import BrokenMessages, KafkaRecordDeserializationSchema, Tombstones
from headgate.datastream.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    ConfluentRegistryAvroDeserializationSchema,
)
from headgate.datastream.formats.csv import CsvRowDeserializationSchema
from headgate.datastream.formats.json import JsonRowDeserializationSchema
from tests.unit.connectors.formats.registry import running_registry

NAMED = Types.ROW_NAMED(["id"], [Types.INT()])
AVRO = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
SEVEN = Row("id")(7)


class Prices(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        return json.loads(message)

    def deserialize_tombstone(self, key: bytes | None) -> Any:
        if key == b"broken":
            raise ValueError("this key cannot be deleted")
        return None if key is None else f"{key.decode()} is gone"


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, message: Message) -> Any:
        return message.key(), message.value()


def made(
    schema: KafkaRecordDeserializationSchema,
    *pairs: tuple[bytes | None, bytes | None],
    broken: BrokenMessages = BrokenMessages.FAIL,
) -> tuple[list[Any], list[int | None], dict[str, int]]:
    """Return the records of messages with these keys and values, the offsets of their messages, and the counters."""
    counters: Counter[str] = Counter()
    messages = [Message("t", 0, offset, key, value) for offset, (key, value) in enumerate(pairs)]
    records, kept = make_records(messages, schema, broken, lambda name, count: counters.update({name: count}))
    return records, [message.offset() for message in kept], dict(counters)


def json_rows(*, lenient: bool = False) -> JsonRowDeserializationSchema:
    builder = JsonRowDeserializationSchema.builder().type_info(NAMED)
    return (builder.ignore_parse_errors() if lenient else builder).build()


@pytest.mark.parametrize(
    ("schema", "value", "record"),
    [
        (SimpleStringSchema(), b"seven", "seven"),
        (JsonSchema(), b'{"id": 7}', {"id": 7}),
        (json_rows(), b'{"id": 7}', SEVEN),
        (json_rows(lenient=True), b'{"id": 7}', SEVEN),
        (CsvRowDeserializationSchema.Builder(NAMED).build(), b"7", SEVEN),
        (
            AvroRowDeserializationSchema(avro_schema_string=AVRO),
            AvroRowSerializationSchema(avro_schema_string=AVRO).serialize((7,)),
            SEVEN,
        ),
    ],
)
def test_a_tombstone_is_left_out_and_counted(schema: DeserializationSchema, value: bytes, record: Any) -> None:
    values = KafkaRecordDeserializationSchema.value_only(schema)
    pairs = [(b"a", value), (b"a", None), (b"b", None), (b"b", value)]
    assert made(values, *pairs) == ([record, record], [0, 3], {"skipped_tombstones": 2})
    assert made(values, (b"a", None)) == ([], [], {"skipped_tombstones": 1})


def test_a_tombstone_of_a_registrys_topic_is_left_out_and_counted() -> None:
    with running_registry() as registry:
        registry.add(5, AVRO)
        schema = ConfluentRegistryAvroDeserializationSchema.for_generic(AvroSchema(AVRO), registry.url)
        values = KafkaRecordDeserializationSchema.value_only(schema)
        seven = b"\x00\x00\x00\x00\x05\x0e"
        assert made(values, (b"a", None), (b"a", seven)) == ([{"id": 7}], [1], {"skipped_tombstones": 1})


def test_an_empty_value_is_no_tombstone() -> None:
    assert made(KafkaRecordDeserializationSchema.value_only(SimpleStringSchema()), (b"a", b"")) == ([""], [0], {})


def test_a_schema_gets_the_keys_of_tombstones_in_their_place() -> None:
    schema = KafkaRecordDeserializationSchema.value_only(Prices(), Tombstones.DELIVER)
    pairs = [(b"tea", b"5"), (b"tea", None), (b"oil", b"7"), (b"oil", None)]
    assert made(schema, *pairs) == ([5, "tea is gone", 7, "oil is gone"], [0, 1, 2, 3], {})


def test_a_tombstone_that_a_schema_makes_no_record_of_is_counted() -> None:
    schema = KafkaRecordDeserializationSchema.value_only(Prices(), Tombstones.DELIVER)
    assert made(schema, (None, None), (b"tea", b"5")) == ([5], [1], {"skipped_tombstones": 1})


def test_a_tombstone_that_a_schema_fails_for_is_a_broken_message() -> None:
    schema = KafkaRecordDeserializationSchema.value_only(Prices(), Tombstones.DELIVER)
    pairs = [(b"tea", b"5"), (b"broken", None), (b"tea", None)]
    skipped = ([5, "tea is gone"], [0, 2], {"skipped_messages": 1})
    assert made(schema, *pairs, broken=BrokenMessages.SKIP) == skipped


def test_schemas_of_whole_messages_get_all_tombstones() -> None:
    assert made(Whole(), (b"tea", b"5"), (b"tea", None)) == ([(b"tea", b"5"), (b"tea", None)], [0, 1], {})


class OneObject(DeserializationSchema):
    """Makes all records of one object."""

    def __init__(self) -> None:
        self.row: dict[str, Any] = {}

    def deserialize(self, message: bytes) -> Any:
        if message == b"broken":
            raise ValueError(message)
        self.row["price"] = int(message)
        return self.row

    def deserialize_tombstone(self, key: bytes | None) -> Any:
        self.row["price"] = None
        return self.row


class OneObjectOfMessages(OneObject, KafkaRecordDeserializationSchema):
    def deserialize(self, message: Any) -> Any:
        value = message.value()
        return self.deserialize_tombstone(None) if value is None else super().deserialize(value)


@pytest.mark.parametrize("broken", [[], [(b"oil", b"broken")]], ids=["whole", "with a broken message"])
@pytest.mark.parametrize(
    "schema",
    [KafkaRecordDeserializationSchema.value_only(OneObject(), Tombstones.DELIVER), OneObjectOfMessages()],
    ids=["values", "messages"],
)
def test_a_schema_may_return_one_object_again_and_again(
    schema: KafkaRecordDeserializationSchema, broken: list[tuple[bytes, bytes]]
) -> None:
    pairs = [(b"tea", b"5"), (b"tea", None), (b"oil", b"7"), (b"oil", None), *broken]
    records, _, _ = made(schema, *pairs, broken=BrokenMessages.SKIP)
    assert [record["price"] for record in records] == [5, None, 7, None]
