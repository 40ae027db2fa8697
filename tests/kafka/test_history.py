"""Files of the past, and the topic that goes on with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.common import Configuration, SimpleStringSchema, WatermarkStrategy
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.file_system import FileSource, StreamFormat
from headgate.datastream.connectors.hybrid_source import HybridSource
from headgate.datastream.connectors.kafka import KafkaSink, KafkaSource
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic
from tests.kafka.sinks import words_to

pytestmark = pytest.mark.slow


def environment() -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def write(broker: KafkaBroker, topic: str, words: list[str]) -> None:
    env = environment()
    sink = KafkaSink.builder().set_bootstrap_servers(broker.bootstrap).set_record_serializer(words_to(topic))
    env.from_collection(words).sink_to(sink.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).build())
    env.execute()


def test_a_topic_goes_on_where_files_end(broker: KafkaBroker, tmp_path: Path) -> None:
    topic, env = new_topic(broker, 2), environment().enable_checkpointing(50)
    write(broker, topic, ["c", "d", "e"])
    (tmp_path / "past.txt").write_text("a\nb\n")
    past = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path / "past.txt")).build()
    live = KafkaSource.builder().set_bootstrap_servers(broker.bootstrap).set_topics(topic)
    source = HybridSource.builder(past).add_source(live.set_value_only_deserializer(SimpleStringSchema()).build())
    stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "words")
    with stream.execute_and_collect() as words:
        assert {next(words), next(words)} == {"a", "b"}
        assert {next(words) for _ in range(3)} == {"c", "d", "e"}
        write(broker, topic, ["f"])
        assert next(words) == "f"
