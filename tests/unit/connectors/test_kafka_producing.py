"""The producers of the Kafka sink, of which each checkpoint uses one up."""

from __future__ import annotations

import gc
import weakref

from headgate.common import SimpleStringSchema
from headgate.connectors.kafka.producing import RecordProducer
from headgate.connectors.kafka.serialization import KafkaRecordSerializationSchema


def test_a_producer_that_is_let_go_of_is_gone_at_once_with_its_threads_and_connections() -> None:
    serializer = KafkaRecordSerializationSchema.builder().set_topic("t")
    serializer.set_value_serialization_schema(SimpleStringSchema())
    gc.disable()  # a slot sets aside what survives a collection: nothing may wait for one
    try:
        producer = RecordProducer({"bootstrap.servers": "127.0.0.1:1"}, serializer.build())
        gone = weakref.ref(producer)
        del producer
        assert gone() is None
    finally:
        gc.enable()
