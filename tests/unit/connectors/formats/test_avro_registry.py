"""Messages whose schema is in a registry: the bytes of Confluent's clients, and one question for each schema."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator
from typing import Any, cast

import pytest
from confluent_kafka import Message

from headgate.columns.logical_types import BIGINT, STRING
from headgate.columns.schema import Schema
from headgate.common import Row
from headgate.connectors.formats.message_formats import message_format
from headgate.connectors.kafka.deserialization import BrokenMessages, KafkaRecordDeserializationSchema, make_records
from headgate.datastream.formats.avro import (
    AvroSchema,
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from headgate.errors import EnvironmentFault, ProgramError, SourceError
from tests.unit.connectors.formats.registry import Registry, running_registry

ORDER = AvroSchema('{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}')
LATER = AvroSchema(
    '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"},'
    '{"name":"note","type":"string","default":"none"}]}'
)
SEVEN = b"\x00\x00\x00\x00\x05\x0e"


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as running:
        yield running


def reader(url: str, schema: AvroSchema = ORDER, **options: Any) -> ConfluentRegistryAvroDeserializationSchema:
    return ConfluentRegistryAvroDeserializationSchema.for_generic(schema, url, **options)


def test_messages_are_read_with_the_schema_that_they_name_asked_for_once(registry: Registry) -> None:
    registry.add(5, str(ORDER))
    schema = pickle.loads(pickle.dumps(reader(registry.url)))  # noqa: S301
    assert schema.deserialize_all([SEVEN, SEVEN, SEVEN[:5] + b"\x02"]) == [{"id": 7}, {"id": 7}, {"id": 1}]
    assert schema.deserialize(SEVEN) == {"id": 7}
    assert registry.asked == ["GET /schemas/ids/5"]


def test_what_was_written_with_another_schema_is_read_as_one_of_this(registry: Registry) -> None:
    registry.add(5, str(ORDER))
    registry.add(6, str(LATER))
    newer = b"\x00\x00\x00\x00\x06\x10\x04hi"
    assert reader(registry.url, LATER).deserialize_all([SEVEN, newer]) == [
        {"id": 7, "note": "none"},
        {"id": 8, "note": "hi"},
    ]
    assert reader(registry.url).deserialize_all([SEVEN, newer]) == [{"id": 7}, {"id": 8}]


def test_the_schema_is_registered_once_and_named_by_each_message(registry: Registry) -> None:
    for schema_id in range(1, 5):
        registry.add(schema_id, f'"int{schema_id}"')
    schema = ConfluentRegistryAvroSerializationSchema.for_generic("a/b-value", ORDER, registry.url)
    assert schema.serialize_all([{"id": 7}, Row(id=7)]) == [SEVEN, SEVEN]
    assert registry.asked == ["POST /subjects/a%2Fb-value/versions"]
    assert registry.schemas[5] == {"schema": str(ORDER)}
    assert reader(registry.url).deserialize(SEVEN) == {"id": 7}


@pytest.mark.parametrize(
    ("message", "reason"),
    [(b"\x00\x00", "too short"), (b"\x01\x00\x00\x00\x05\x0e", "begins with 1"), (SEVEN[:4] + b"\x09\x0e", "not know")],
)
def test_a_message_of_another_form_is_broken(registry: Registry, message: bytes, reason: str) -> None:
    registry.add(5, str(ORDER))
    schema = KafkaRecordDeserializationSchema.value_only(reader(registry.url))
    messages = [Message("t", 0, 0, b"", SEVEN), Message("t", 0, 1, b"", message)]
    with pytest.raises(SourceError, match=f"offset 1 .*{reason}"):
        make_records(messages, schema, BrokenMessages.FAIL, lambda *_: None)
    assert make_records(messages, schema, BrokenMessages.SKIP, lambda *_: None)[0] == [{"id": 7}]


def test_a_schema_that_is_not_avro_is_refused(registry: Registry) -> None:
    registry.add(5, "{}", schemaType="JSON")
    with pytest.raises(ValueError, match="is JSON, and not Avro"):
        reader(registry.url).deserialize(SEVEN)


def test_a_registry_that_is_away_is_no_fault_of_the_messages() -> None:
    with running_registry() as gone:
        url = gone.url.replace("http://", "http://me:secret@")
    schema = KafkaRecordDeserializationSchema.value_only(reader(url))
    with pytest.raises(EnvironmentFault, match=r"the schema registry at http://127\.0\.0\.1:\d+ cannot be reached"):
        make_records([Message("t", 0, 0, b"", SEVEN)], schema, BrokenMessages.SKIP, lambda *_: None)


def test_the_next_registry_is_asked_when_one_is_away(registry: Registry) -> None:
    registry.add(5, str(ORDER))
    with running_registry() as gone:
        urls = f"{gone.url}, {registry.url}/"
    assert reader(urls).deserialize(SEVEN) == {"id": 7}


def test_the_login_is_in_the_options_or_in_the_url(registry: Registry) -> None:
    registry.add(5, str(ORDER))
    registry.login = "Basic " + base64.b64encode(b"me:se:cret").decode()
    options = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:se:cret"}
    assert reader(registry.url, registry_configs=options).deserialize(SEVEN) == {"id": 7}
    assert reader(registry.url.replace("//", "//me:se%3Acret@")).deserialize(SEVEN) == {"id": 7}
    with pytest.raises(EnvironmentFault, match=r"with 401: .*check the URL and the login"):
        reader(registry.url).deserialize(SEVEN)


def test_what_cannot_be_is_refused_when_it_is_made() -> None:
    with pytest.raises(ProgramError, match="needs a URL"):
        reader("")
    with pytest.raises(ProgramError, match=r"no option 'ssl\.x'; it has basic\.auth"):
        reader("http://x", registry_configs={"ssl.x": "y"})
    with pytest.raises(ProgramError, match="must be an AvroSchema"):
        reader("http://x", "text")  # type: ignore[arg-type]


def test_columns_are_written_with_the_schema_of_their_types_and_read_by_name(registry: Registry) -> None:
    registry.add(5, str(ORDER))
    registry.add(6, str(LATER))
    wanted = Schema([("id", BIGINT.nulls(nullable=False)), ("note", STRING)])
    form = message_format("avro-confluent", {"url": registry.url})
    read = form.decoder(wanted, wanted).decode([SEVEN, b"\x00\x00\x00\x00\x06\x10\x04hi", b"\x00", SEVEN + b"!"])
    assert read.columns.to_pylist() == [{"id": 7, "note": None}, {"id": 8, "note": "hi"}]
    assert sorted(read.broken) == [2, 3]
    for is_key, subject in ((False, "orders-value"), (True, "orders-key")):
        written = form.encoder(wanted, "orders", is_key=is_key).encode(read.columns)
        assert registry.asked[-1] == f"POST /subjects/{subject}/versions"
        assert form.decoder(wanted, wanted).decode(cast("list[bytes]", written)).columns.equals(read.columns)
    with pytest.raises(EnvironmentFault):
        message_format("avro-confluent", {"url": "http://127.0.0.1:1"}).decoder(wanted, wanted).decode([SEVEN])
