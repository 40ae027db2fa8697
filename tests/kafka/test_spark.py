"""Jobs from Kafka to Kafka on Spark, whose worker processes are killed: consumers see each record once."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration, JsonSchema, Types, WatermarkStrategy
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headgate.datastream.state import ValueStateDescriptor
from headgate.testing.servers.kafka import KafkaBroker
from tests.cluster.conftest import kept_session, spark, spark_folder
from tests.kafka.broker import new_topic, texts

__all__ = ["kept_session", "spark", "spark_folder"]

pytestmark = [pytest.mark.spark, pytest.mark.soak]

RECORDS: Final = 30_000
KEYS: Final = 97
DEADLY: Final = frozenset({5_000, 15_000, 25_000})
"""Values at which the worker is killed, once each."""


class DeadlyCounting(KeyedProcessFunction):
    """Yields `[key, count]`. Leaves a file in `folder` for each kill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value in DEADLY and not (self.folder / str(value)).exists():
            (self.folder / str(value)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        self.count.update((self.count.value() or 0) + 1)
        yield [ctx.get_current_key(), self.count.value()]


def test_killed_workers_lose_and_double_nothing(broker: KafkaBroker, spark: SparkSession, tmp_path: Path) -> None:
    source_topic, target_topic = new_topic(broker, 3), new_topic(broker, 2)
    broker.write(source_topic, [str(value).encode() for value in range(RECORDS)])
    settings = {
        "execution.checkpointing.interval": "200 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 ms",
        "restart-strategy.fixed-delay.attempts": "10",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings), spark)
    env.set_parallelism(2)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_topics(source_topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(JsonSchema())
        .build()
    )
    serializer = KafkaRecordSerializationSchema.builder().set_topic(target_topic)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_record_serializer(serializer.set_value_serialization_schema(JsonSchema()).build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("killed")
        .build()
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda value: value % KEYS).process(DeadlyCounting(tmp_path)).sink_to(sink)
    env.execute()
    assert {int(path.name) for path in tmp_path.iterdir()} == DEADLY
    seen = Counter(tuple(json.loads(text)) for text in texts(broker, target_topic))
    assert seen == Counter((value % KEYS, value // KEYS + 1) for value in range(RECORDS))
