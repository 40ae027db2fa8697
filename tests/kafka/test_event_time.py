"""A job that reads a topic at another parallelism makes nothing late."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

import pytest

from headgate.common import SimpleStringSchema
from headgate.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic
from tests.scenarios.event_time import EventTimeJobs, results

pytestmark = pytest.mark.slow

TIMES: Final = [number * 197 for number in range(300)]


@pytest.mark.parametrize("pair", list(itertools.product((1, 2, 3), repeat=2)), ids=str)
def test_partitions_in_time_order(
    pair: tuple[int, int], broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = new_topic(broker, 3)
    for partition in range(3):
        broker.write(topic, [str(time_ms).encode() for time_ms in TIMES[partition::3]], partition=partition)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_topics(topic)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .build()
    )
    before, after = pair
    jobs = EventTimeJobs(tmp_path, monkeypatch, int)
    jobs.run_half_way(source, before, len(TIMES))
    assert jobs.run_to_the_end(source, after) == results(TIMES)
