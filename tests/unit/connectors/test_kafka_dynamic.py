"""Sources of streams: topics of one cluster, with its properties; what PyFlink cannot make either is refused."""

from __future__ import annotations

import pytest

from headgate.common import SimpleStringSchema
from headgate.datastream.connectors.dynamic_kafka import (
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaMetadataService,
    KafkaRecordDeserializationSchema,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from headgate.datastream.connectors.kafka import KafkaOffsetsInitializer
from headgate.errors import ProgramError

CLUSTER = SingleClusterTopicMetadataService("main", {"bootstrap.servers": "main:9092", "client.rack": "a"})


def builder() -> DynamicKafkaSourceBuilder:
    made = DynamicKafkaSource.builder().set_kafka_metadata_service(CLUSTER)
    return made.set_value_only_deserializer(SimpleStringSchema())


def test_streams_are_topics_by_name_or_by_pattern() -> None:
    assert builder().set_stream_ids({"b", "a"}).build().subscription.topics == ("a", "b")
    assert builder().set_kafka_stream_subscriber(KafkaStreamSetSubscriber(["a"])).build().subscription.topics == ("a",)
    assert builder().set_stream_pattern("a.*").build().subscription.pattern == "a.*"
    by_pattern = builder().set_kafka_stream_subscriber(StreamPatternSubscriber("b.*")).build()
    assert by_pattern.subscription.pattern == "b.*"


def test_the_properties_of_the_cluster_go_first_and_flinks_own_are_translated() -> None:
    properties = {
        "client.rack": "b",
        "stream-metadata-discovery-interval-ms": "1000",
        "stream-metadata-discovery-failure-threshold": "3",
    }
    source = builder().set_stream_ids({"a"}).set_properties(properties).set_group_id("g").build()
    assert source.properties == {
        "bootstrap.servers": "main:9092",
        "client.rack": "a",
        "group.id": "g",
        "partition.discovery.interval.ms": "1000",
    }
    assert source.discovery_interval_ms == 1000


def test_all_else_is_that_of_a_kafka_source() -> None:
    made = builder().set_stream_ids({"a"}).set_client_id_prefix("reader").set_property("fetch.min.bytes", "1")
    made.set_deserializer(KafkaRecordDeserializationSchema.value_only(SimpleStringSchema()))
    made.set_starting_offsets(KafkaOffsetsInitializer.latest()).set_bounded(KafkaOffsetsInitializer.latest())
    source = made.build()
    assert (source.client_id_prefix, source.bounded, source.properties["fetch.min.bytes"]) == ("reader", True, "1")
    assert source.start is not None
    assert source.stop is not None


def test_what_is_missing_or_of_ones_own_is_refused() -> None:
    with pytest.raises(ProgramError, match="set_stream_ids"):
        builder().build()
    with pytest.raises(ProgramError, match="subscriber of your own"):
        builder().set_kafka_stream_subscriber(KafkaStreamSubscriber()).build()
    with pytest.raises(ProgramError, match=r"a KafkaSource each, and union\(\)"):
        builder().set_stream_ids({"a"}).set_kafka_metadata_service(KafkaMetadataService()).build()
    with pytest.raises(ProgramError, match="deserializer"):
        DynamicKafkaSource.builder().set_stream_ids({"a"}).set_kafka_metadata_service(CLUSTER).build()
