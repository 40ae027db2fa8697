"""Rows through a broker in each format: what one job writes, the next one reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from headgate.common import Configuration, Row, SimpleStringSchema, Types, WatermarkStrategy
from headgate.common.serialization import DeserializationSchema, RowFieldExtractorSchema, SerializationSchema
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headgate.datastream.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from headgate.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from headgate.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic
from tests.unit.connectors.formats.registry import running_registry

pytestmark = pytest.mark.slow

NAMED: Final = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
WORDS: Final = [(1, "hi"), (2, "hello, you"), (3, 'he said "hi"')]
AVRO: Final = """{"type": "record", "name": "Word", "fields": [
    {"name": "id", "type": "int"}, {"name": "name", "type": "string"}]}"""

Schemas = Callable[[], tuple[SerializationSchema, DeserializationSchema]]


def json_schemas() -> tuple[SerializationSchema, DeserializationSchema]:
    return (
        JsonRowSerializationSchema.builder().with_type_info(NAMED).build(),
        JsonRowDeserializationSchema.builder().type_info(NAMED).build(),
    )


def csv_schemas() -> tuple[SerializationSchema, DeserializationSchema]:
    return CsvRowSerializationSchema.Builder(NAMED).build(), CsvRowDeserializationSchema.Builder(NAMED).build()


def avro_schemas() -> tuple[SerializationSchema, DeserializationSchema]:
    return AvroRowSerializationSchema(avro_schema_string=AVRO), AvroRowDeserializationSchema(avro_schema_string=AVRO)


def write(env: StreamExecutionEnvironment, broker: KafkaBroker, records: list[Any], serializer: Any) -> None:
    sink = KafkaSink.builder().set_bootstrap_servers(broker.bootstrap).set_record_serializer(serializer)
    sink.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    env.from_collection(records).sink_to(sink.build())
    env.execute()


def read(env: StreamExecutionEnvironment, broker: KafkaBroker, topic: str, schema: DeserializationSchema) -> list[Any]:
    source = KafkaSource.builder().set_bootstrap_servers(broker.bootstrap).set_topics(topic)
    source.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(schema)
    return list(env.from_source(source.build(), WatermarkStrategy.no_watermarks(), topic).execute_and_collect())


def environment() -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


@pytest.mark.parametrize("schemas", [json_schemas, csv_schemas, avro_schemas])
def test_rows_are_read_with_their_names(broker: KafkaBroker, schemas: Schemas) -> None:
    topic, (serializer, deserializer) = new_topic(broker), schemas()
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    write(environment(), broker, WORDS, builder.set_value_serialization_schema(serializer).build())
    assert read(environment(), broker, topic, deserializer) == [Row("id", "name")(*word) for word in WORDS]


def test_a_registry_keeps_the_schema_of_messages(broker: KafkaBroker) -> None:
    topic, schema = new_topic(broker), AvroSchema(AVRO)
    with running_registry() as registry:
        values = ConfluentRegistryAvroSerializationSchema.for_generic(f"{topic}-value", schema, registry.url)
        builder = KafkaRecordSerializationSchema.builder().set_topic(topic).set_value_serialization_schema(values)
        words = [{"id": number, "name": name} for number, name in WORDS]
        write(environment(), broker, words, builder.build())
        deserializer = ConfluentRegistryAvroDeserializationSchema.for_generic(schema, registry.url)
        assert read(environment(), broker, topic, deserializer) == words
        assert registry.asked == [f"POST /subjects/{topic}-value/versions", "GET /schemas/ids/1"]


def test_fields_of_rows_are_keys_and_values(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder.set_key_serialization_schema(RowFieldExtractorSchema(0))
    serializer = builder.set_value_serialization_schema(RowFieldExtractorSchema(1)).build()
    write(environment(), broker, [Row(b"ann", b"bought"), Row(b"bob", b"looked")], serializer)
    messages = broker.read_committed(topic)
    assert [(message.key(), message.value()) for message in messages] == [(b"ann", b"bought"), (b"bob", b"looked")]


def test_a_message_that_a_schema_ignores_is_no_record(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    texts = ['{"id":1,"name":"hi"}', "broken", '{"id":"x"}', "null", '{"id":2}']
    write(environment(), broker, texts, builder.set_value_serialization_schema(SimpleStringSchema()).build())
    lenient = JsonRowDeserializationSchema.builder().type_info(NAMED).ignore_parse_errors().build()
    row = Row("id", "name")
    assert read(environment(), broker, topic, lenient) == [row(1, "hi"), row(None, None), row(2, None)]


@pytest.mark.parametrize("schemas", [json_schemas, csv_schemas, avro_schemas])
def test_rows_are_printed_as_rows_of_a_known_type(
    broker: KafkaBroker, schemas: Schemas, capfd: pytest.CaptureFixture[str]
) -> None:
    topic, (serializer, deserializer) = new_topic(broker), schemas()
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    write(environment(), broker, [(1, "hi")], builder.set_value_serialization_schema(serializer).build())
    env = environment()
    source = KafkaSource.builder().set_bootstrap_servers(broker.bootstrap).set_topics(topic)
    source.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(deserializer)
    env.from_source(source.build(), WatermarkStrategy.no_watermarks(), topic).print()
    env.execute()
    assert "+I[1,hi]" in capfd.readouterr().out.splitlines()
