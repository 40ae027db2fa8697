"""A driver that is killed amid its transactions, and a program that is started again: each record once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic, texts

RECORDS: Final = 3_000
DEADLINE_S: Final = 120.0
PROGRAM: Final = f"""
import sys
from headgate.common import Configuration, SimpleStringSchema, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from headgate.datastream.state import ValueStateDescriptor

class Nth(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        yield f"{{ctx.get_current_key()}} {{self.seen.value()}}"

brokers, topic = sys.argv[1:]
conf = Configuration.from_dict({{
    "headgate.deploy.target": "minicluster",
    "headgate.job.id": "0123456789abcdef0123456789abcdef",
    "headgate.storage.dir": "storage",
    "execution.checkpointing.interval": "300 ms",
}})
env = StreamExecutionEnvironment.get_execution_environment(conf).set_parallelism(2)
serializer = KafkaRecordSerializationSchema.builder().set_topic(topic)
sink = KafkaSink.builder().set_bootstrap_servers(brokers).set_transactional_id_prefix("driver")
sink.set_record_serializer(serializer.set_value_serialization_schema(SimpleStringSchema()).build())
numbers = env.from_source(DataGeneratorSource(lambda index: index, {RECORDS}, 300), None, "numbers")
counted = numbers.key_by(lambda number: number % 7).process(Nth())
counted.sink_to(sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build())
env.execute("counts")
"""
EXPECTED: Final = Counter(f"{key} {nth + 1}" for key in range(7) for nth in range(len(range(key, RECORDS, 7))))


def start(folder: Path, broker: KafkaBroker, topic: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "job.py", broker.bootstrap, topic]
    with (folder / "output").open("ab") as output:
        return subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)


@pytest.mark.soak
def test_a_program_whose_driver_was_killed_writes_each_record_once(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = new_topic(broker, 2)
    (tmp_path / "job.py").write_text(PROGRAM)
    first = start(tmp_path, broker, topic)
    try:
        due_s = time.monotonic() + DEADLINE_S
        while not texts(broker, topic):
            assert first.poll() is None, (tmp_path / "output").read_text()
            assert time.monotonic() < due_s
        os.kill(first.pid, signal.SIGKILL)
    finally:
        first.kill()
        first.wait()
    assert len(texts(broker, topic)) < RECORDS
    again = start(tmp_path, broker, topic)
    try:
        assert again.wait(DEADLINE_S) == 0, (tmp_path / "output").read_text()
    finally:
        again.kill()
    assert Counter(texts(broker, topic)) == EXPECTED
