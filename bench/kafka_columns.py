"""One run from a topic of JSON to another: a filter and a computed column, as columns, as records, or without any.

`python -m bench.kafka_columns` takes `{"system": ..., "bootstrap": ..., "source": ..., "target": ..., "count": ...}` as
JSON, and prints its result as JSON on the last line. All systems read the same messages and write every second one, on
one core. `bare` is a consumer and a producer of confluent-kafka that pass the bytes on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.kafka_topics import PARTITIONS
from headgate import dataframe as pf
from headgate.common import Configuration, JsonSchema, WatermarkStrategy
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headgate.table.table_environment import TableEnvironment

SETTINGS: Final = {
    "headgate.deploy.target": "minicluster",
    "parallelism.default": "1",
    "execution.checkpointing.interval": "1 s",
    "table.local-time-zone": "UTC",
}
_MESSAGES: Final = 10_000
_CHUNK: Final = 50_000
_FLUSH_S: Final = 60.0


def order(number: int) -> bytes:
    """Return a message.

    >>> order(3)
    b'{"id":3,"user":"user-3","item":"item-3","price":0.75,"at":"2024-01-01 12:00:03.250"}'
    """
    at = f"2024-01-01 12:00:{number % 60:02}.250"
    return json.dumps(
        {"id": number, "user": f"user-{number % 1_000}", "item": f"item-{number % 77}", "price": number / 4, "at": at},
        separators=(",", ":"),
    ).encode()


def fill(bootstrap: str, topic: str, count: int) -> None:
    """Write so many messages, in turns to all partitions. Blocks until the broker has them."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.size": 1_000_000})
    for turn, first in enumerate(range(0, count, _CHUNK)):
        messages = [{"value": order(number)} for number in range(first, min(first + _CHUNK, count))]
        producer.produce_batch(topic, messages, partition=turn % PARTITIONS)
        if producer.flush(_FLUSH_S):
            raise TimeoutError(f"the broker did not take {count:,} messages within {_FLUSH_S:g} s each {_CHUNK:,}")


def run_columns(bootstrap: str, source: str, target: str) -> None:
    """Run the DataFrame."""
    pf.set_table_environment(TableEnvironment.create(Configuration.from_dict(SETTINGS)))
    types = pf.DataType
    orders = pf.read_kafka(
        bootstrap,
        topic=source,
        startup_mode="earliest-offset",
        bounded_mode="latest-offset",
        schema={
            "id": types.int64(),
            "user": types.string(),
            "item": types.string(),
            "price": types.float64(),
            "at": types.timestamp(3),
        },
    )
    orders.filter(pf.col("id") % 2 == 0).with_column("total", pf.col("price") * 3).write_kafka(bootstrap, topic=target)


def run_records(bootstrap: str, source: str, target: str) -> None:
    """Run the DataStream of dicts."""
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(SETTINGS))
    orders = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(source)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(JsonSchema())
        .build()
    )
    totals = (
        KafkaSink.builder()
        .set_bootstrap_servers(bootstrap)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic(target)
            .set_value_serialization_schema(JsonSchema())
            .build()
        )
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .build()
    )
    stream = env.from_source(orders, WatermarkStrategy.no_watermarks(), "orders")
    kept = stream.filter(lambda order: order["id"] % 2 == 0)
    kept.map(lambda order: {**order, "total": order["price"] * 3}).sink_to(totals)
    env.execute()


def run_bare(bootstrap: str, source: str, target: str) -> None:
    """Pass every second message on, as it is."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bare",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "fetch.queue.backoff.ms": 10,
        }
    )
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True})
    consumer.assign([TopicPartition(source, number, 0) for number in range(PARTITIONS)])
    ended = 0
    while ended < PARTITIONS:
        messages = consumer.consume(_MESSAGES, 0.1)
        values = [message.value() for message in messages if message.error() is None]
        ended += len(messages) - len(values)
        left: list[dict[str, Any]] = [{"value": value} for value in values[::2]]
        while left and producer.produce_batch(target, left) < len(left):
            left = [{"value": own["value"]} for own in left if "_error" in own]
            producer.poll(0.1)
        producer.poll(0)
    producer.flush(_FLUSH_S)
    consumer.close()


SYSTEMS: Final[dict[str, Callable[[str, str, str], None]]] = {
    "columns": run_columns,
    "records": run_records,
    "bare": run_bare,
}


def main() -> None:
    """Run one system on one core, and print the seconds and the CPU seconds that it took."""
    given = json.loads(sys.argv[1])
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    SYSTEMS[given["system"]](given["bootstrap"], given["source"], given["target"])
    print(json.dumps({"s": time.monotonic() - began_s, "cpu_s": time.process_time() - began_cpu_s}))


if __name__ == "__main__":
    main()
