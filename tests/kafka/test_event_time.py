"""A job from Kafka to Kafka goes on at another parallelism: nothing is late, and each result is there once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from headgate.common import SimpleStringSchema
from headgate.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic, texts
from tests.kafka.sinks import exactly_once
from tests.scenarios.event_time import EventTimeJobs, results
from tests.scenarios.rescaled import Change, Way, changes, leave_commits_to_others

pytestmark = pytest.mark.slow

TIMES: Final = [number * 197 for number in range(300)]


@pytest.mark.parametrize("change", changes(Way.RUNNING, Way.CHECKPOINT, Way.SAVEPOINT))
def test_partitions_in_time_order(
    change: Change, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_commits_to_others(change, monkeypatch)
    topic, target = new_topic(broker, 3), new_topic(broker, 2)
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
    jobs = EventTimeJobs(tmp_path, lambda: source, len(TIMES))
    jobs.sinks.append(exactly_once(broker, target).build())
    assert jobs.run(change) == results(TIMES)
    assert sorted(texts(broker, target)) == results(TIMES)
