"""Whole jobs from Kafka to Kafka: whatever fails, a read-committed consumer sees each record once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import JsonSchema, Types, WatermarkStrategy
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
from tests.kafka.broker import new_topic, texts
from tests.scenarios.runs import Runs, wait_until

pytestmark = pytest.mark.slow

KEYS: Final = 7
FAULTS: set[int] = set()
"""Values at which the job fails, once each."""

PATIENT: Final = {
    "execution.checkpointing.interval": "100 ms",
    "restart-strategy.fixed-delay.delay": "100 ms",
    "restart-strategy.fixed-delay.attempts": "1000",
}


class Counting(KeyedProcessFunction):
    """Yields `[key, count]`, and fails when that is planned."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value in FAULTS:
            FAULTS.remove(value)
            raise ValueError(f"planned fault at {value}")
        self.count.update((self.count.value() or 0) + 1)
        yield [ctx.get_current_key(), self.count.value()]


def counted(
    env: StreamExecutionEnvironment, broker: KafkaBroker, source: str, target: str, *, ends: bool = False
) -> None:
    """Count the numbers of a topic by key into another one."""
    numbers = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_topics(source)
        .set_group_id(f"group-{source}")
        .set_property("partition.discovery.interval.ms", "200")
        .set_value_only_deserializer(JsonSchema())
    )
    if ends:
        numbers.set_bounded(KafkaOffsetsInitializer.latest())
    counts = (
        KafkaSink.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic(target)
            .set_value_serialization_schema(JsonSchema())
            .build()
        )
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"counts-{target}")
        .build()
    )
    stream = env.from_source(numbers.build(), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    stream.key_by(lambda value: value % KEYS).process(Counting()).uid("counting").sink_to(counts).uid("counts")


def expected(count: int) -> Counter[tuple[int, int]]:
    return Counter((value % KEYS, value // KEYS + 1) for value in range(count))


def seen(broker: KafkaBroker, topic: str) -> Counter[tuple[int, int]]:
    return Counter(tuple(json.loads(text)) for text in texts(broker, topic))


def write(broker: KafkaBroker, topic: str, first: int, last: int) -> None:
    broker.write(topic, [str(value).encode() for value in range(first, last)])


def test_a_job_that_fails_again_and_again_writes_each_record_once(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = new_topic(broker, 3), new_topic(broker, 2)
    write(broker, source, 0, 700)
    FAULTS.update({100, 101, 250, 400, 699})
    runs = Runs(tmp_path, monkeypatch)
    env = runs.environment(2)
    counted(env, broker, source, target, ends=True)
    runs.finish(env)
    assert set() == FAULTS
    assert seen(broker, target) == expected(700)


def test_a_job_outlives_the_death_of_the_broker_and_finds_new_partitions(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = new_topic(broker, 2), new_topic(broker, 2)
    write(broker, source, 0, 200)
    runs = Runs(tmp_path, monkeypatch, **PATIENT)
    env = runs.environment(2)
    counted(env, broker, source, target)
    job: Any = env.submit()
    for first in (200, 400):
        wait_until(lambda first=first: sum(seen(broker, target).values()) >= first, job)  # type: ignore[misc]
        broker.kill()
        broker.start()
        write(broker, source, first, first + 200)
    broker.add_partitions(source, 4)
    broker.write(source, [str(value).encode() for value in range(600, 700)], partition=3)
    wait_until(lambda: sum(seen(broker, target).values()) >= 700, job)
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"
    assert seen(broker, target) == expected(700)


def test_a_job_goes_on_at_another_parallelism(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = new_topic(broker, 3), new_topic(broker, 2)
    runs = Runs(tmp_path, monkeypatch, **PATIENT)
    for number, parallelism in enumerate((2, 3, 1)):
        write(broker, source, 200 * number, 200 * number + 200)
        env = runs.environment(parallelism)
        counted(env, broker, source, target)
        runs.stop(env, checkpoints=2)
    write(broker, source, 600, 700)
    env = runs.environment(2)
    counted(env, broker, source, target)
    job: Any = env.submit()
    wait_until(lambda: sum(seen(broker, target).values()) >= 700, job)
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"
    assert seen(broker, target) == expected(700)
