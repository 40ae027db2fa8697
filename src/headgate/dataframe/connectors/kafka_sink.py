"""Topics of Kafka as the target of a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.columns.schema import Schema
from headgate.connectors.formats.message_columns import MessageFormat
from headgate.connectors.guarantee import DeliveryGuarantee
from headgate.connectors.kafka.columns import RowSerialization
from headgate.connectors.kafka.serialization import KafkaPartitioner
from headgate.connectors.kafka.sink import KafkaSink
from headgate.dataframe.connectors.kafka_arguments import ALL, choice, key_columns
from headgate.dataframe.connectors.options import text


def kafka_sink(  # noqa: PLR0913  # each is an argument of `write_kafka`
    schema: Schema,
    client: Mapping[str, str],
    topic: Any,
    formats: tuple[MessageFormat, MessageFormat | None],
    key_fields: list[str] | None,
    include: str,
    guarantee: str,
    prefix: str | None,
    partitioner: str | None,
) -> KafkaSink:
    """Return the sink of `DataFrame.write_kafka`. Raises TypeError and ValueError for wrong arguments."""
    value, key = formats
    topic = text("topic", topic)
    in_key = key_columns(schema, key, key_fields, None, include)
    in_value = [name for name in schema.names if include == ALL or name not in in_key]
    if not in_value:
        raise ValueError("value_fields_include='EXCEPT_KEY' leaves no column for the value")
    delivery = choice("delivery_guarantee", guarantee, *(own.value for own in DeliveryGuarantee))
    placing = choice(
        "partitioner", partitioner or KafkaPartitioner.DEFAULT.value, *(own.value for own in KafkaPartitioner)
    )
    serializer = RowSerialization(
        topic=topic,
        partitioner=KafkaPartitioner(placing),
        schema=schema,
        value=value.encoder(schema.only(in_value), topic, is_key=False),
        value_columns=tuple(in_value),
        key=None if key is None else key.encoder(schema.only(in_key), topic, is_key=True),
        key_columns=tuple(in_key),
    )
    builder = KafkaSink.builder().set_record_serializer(serializer).set_delivery_guarantee(DeliveryGuarantee(delivery))
    if prefix is not None:
        builder.set_transactional_id_prefix(text("transactional_id_prefix", prefix))
    elif delivery == DeliveryGuarantee.EXACTLY_ONCE.value:
        raise ValueError("delivery_guarantee='exactly-once' needs transactional_id_prefix, which no other sink has")
    for name, value_of in client.items():
        builder.set_property(name, value_of)
    return builder.build()
