"""DataFrames from topic to topic: columns all the way, each row once, whatever fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate import dataframe as pf
from headgate.common import Configuration
from headgate.table.table_environment import TableEnvironment
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic

pytestmark = pytest.mark.slow

T = pf.DataType
SCHEMA = {"id": T.int64(), "item": T.string(), "price": T.float64()}
BOUNDED: dict[str, Any] = {"schema": SCHEMA, "startup_mode": "earliest-offset", "bounded_mode": "latest-offset"}


@pytest.fixture(autouse=True)
def environment(tmp_path: Path) -> Iterator[TableEnvironment]:
    settings = {
        "headgate.deploy.target": "minicluster",
        "table.local-time-zone": "UTC",
        "parallelism.default": "2",
        "execution.checkpointing.interval": "50 ms",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1 ms",
        "headgate.batch.records": "256",
    }
    made = TableEnvironment.create(Configuration.from_dict(settings))
    pf.set_table_environment(made)
    yield made
    pf.set_table_environment(None)


def order(number: int) -> bytes:
    return json.dumps({"id": number, "item": f"item-{number % 7}", "price": number / 4}).encode()


class FailsOnce:
    """Passes batches on, and fails once in each subtask that has seen so many rows, by a file."""

    def __init__(self, done: Path, rows: int) -> None:
        self._done = done
        self._rows = rows

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._rows -= batch.num_rows
        if self._rows < 0 and not self._done.exists():
            self._done.touch()
            raise ValueError("fails once")
        return batch


def test_each_message_becomes_one_message_over_failures_and_the_death_of_the_broker(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    source, target = new_topic(broker, 3), new_topic(broker, 2)
    broken = [b"{", b'{"id":1}{"id":2}', b"", b'{"id":1}\n{"id":2}']
    for first in range(0, 4_000, 1_000):
        broker.write(source, [order(number) for number in range(first, first + 1_000)] + broken[first // 1_000 :][:1])
    orders = pf.read_kafka(
        broker.bootstrap, topic=source, format_options={"ignore-parse-errors": "true"}, group_id=source, **BOUNDED
    )
    done = tmp_path / "failed"
    changed = orders.filter("id % 2 = 0").map_batches(FailsOnce(done, 500)).with_column("twice", pf.col("price") * 2)
    for guarantee in ("exactly-once", "at-least-once"):
        changed.write_kafka(
            broker.bootstrap,
            topic=target,
            key_format="raw",
            key_fields=["item"],
            delivery_guarantee=guarantee,
            transactional_id_prefix=f"orders-{target}",
        )
        if guarantee == "exactly-once":
            assert done.exists(), "the job failed in between"
            found = [(message.key(), json.loads(message.value())) for message in broker.read_committed(target)]
            assert sorted(own["id"] for _, own in found) == list(range(0, 4_000, 2))
            assert all(own["twice"] == own["id"] / 2 and key.decode() == own["item"] for key, own in found)
            broker.kill()
            broker.start()
    failed = orders.failed_rows().collect()
    assert sorted(row.value for row in failed) == sorted(broken)
    assert {row.topic for row in failed} == {source}
    by_place = {(message.partition(), message.offset()): message.value() for message in broker.read_committed(source)}
    assert all(by_place[row.partition, row.offset] == row.value for row in failed)


def test_partitioners_and_keys(broker: KafkaBroker) -> None:
    for partitioner, expected in (("fixed", [0] * 9), ("round-robin", [0] * 5 + [1] * 4)):
        topic = new_topic(broker, 2)
        frame = pf.from_dict({"id": list(range(9))})
        frame.write_kafka(broker.bootstrap, topic=topic, partitioner=partitioner, sink_parallelism=1)
        assert sorted(message.partition() for message in broker.read_committed(topic)) == expected
    keyed = new_topic(broker, 2)
    pf.from_dict({"id": [1, 2], "item": ["a", None]}).write_kafka(
        broker.bootstrap, topic=keyed, key_format="json", key_fields=["id"], value_fields_include="EXCEPT_KEY"
    )
    read = pf.read_kafka(
        broker.bootstrap,
        topic=keyed,
        key_format="json",
        key_fields=["key_id"],
        key_fields_prefix="key_",
        value_fields_include="EXCEPT_KEY",
        **{**BOUNDED, "schema": {"item": T.string(), "key_id": T.int64()}},
    )
    assert sorted(map(tuple, read.collect()), key=lambda own: own[1]) == [("a", 1), (None, 2)]
