"""Topics as DataFrames, as far as no broker is needed: messages as rows, plans, and arguments."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message

from headgate import dataframe as pf
from headgate.connectors.kafka.columns import RowSerialization
from headgate.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from headgate.connectors.kafka.serialization import KafkaMessage, KafkaPartitioner
from headgate.connectors.kafka.sink import FlushingKafkaSink, TransactionalKafkaSink
from headgate.connectors.kafka.source import KafkaSource
from headgate.dataframe.connectors.kafka_arguments import formats, offsets_of
from headgate.dataframe.connectors.kafka_sink import kafka_sink
from headgate.dataframe.planner.logical import Scan, inputs_of
from headgate.dataframe.planner.optimizer import optimized
from headgate.errors import SourceError

T = pf.DataType
SCHEMA = {"id": T.int64(), "name": T.string(), "price": T.float64()}


def read(**given: Any) -> pf.DataFrame:
    return pf.read_kafka(
        "localhost:9092", **{"topic": "orders", "schema": SCHEMA, "startup_mode": "earliest-offset", **given}
    )


def source_of(frame: pf.DataFrame) -> KafkaSource:
    plan: Any = optimized(frame._plan)
    while not isinstance(plan, Scan):
        (plan,) = inputs_of(plan)
    source = plan.source.source(plan.columns)
    assert isinstance(source, KafkaSource)
    return source


def message(offset: int, value: bytes | None, key: bytes | None = None) -> Message:
    return Message("orders", 3, offset, key, value)


def decoded(frame: pf.DataFrame, *messages: Message) -> tuple[list[dict[str, Any]], list[int], dict[str, int]]:
    """Return the rows, the offsets of their messages, and the counters."""
    counters: dict[str, int] = {}
    columns, kept = source_of(frame).decoding.decode(list(messages), lambda name, by: counters.update({name: by}))
    assert isinstance(columns, pa.RecordBatch)
    return columns.to_pylist(), [own.offset() or 0 for own in kept], counters


GOOD = b'{"id":1,"name":"a","price":0.5}'


def test_only_the_columns_that_a_plan_reads_are_decoded() -> None:
    frame = read().filter(pf.col("price") > 0.1).select("price")
    assert decoded(frame, message(5, GOOD), message(6, b'{"id":"no number","price":2}')) == (
        [{"price": 0.5}, {"price": 2.0}],
        [5, 6],
        {},
    )
    assert "Scan kafka orders [price]" in frame.explain()


def test_a_broken_message_fails_with_its_place_or_is_left_out_or_is_a_failed_row() -> None:
    messages = [message(5, GOOD), message(6, b'{"id":1}{"id":2}', b"k"), message(7, None), message(8, GOOD)]
    with pytest.raises(SourceError, match=r"(?s)offset 6 of partition 3 of topic 'orders'.*Extra data.*failed_rows"):
        decoded(read(), *messages)
    lenient = read(format_options={"json.ignore-parse-errors": "true"})
    row = {"id": 1, "name": "a", "price": 0.5}
    assert decoded(lenient, *messages) == ([row, row], [5, 8], {"skipped_messages": 1, "skipped_tombstones": 1})
    failed = read().filter("id > 5").failed_rows()
    rows, offsets, _ = decoded(failed, *messages)
    assert offsets == [6]
    assert rows == [
        {
            "topic": "orders",
            "partition": 3,
            "offset": 6,
            "key": b"k",
            "value": b'{"id":1}{"id":2}',
            "error": "Extra data: line 1 column 9 (char 8)",
        }
    ]
    assert decoded(failed.select("offset"), *messages)[0] == [{"offset": 6}]
    assert decoded(failed, message(5, GOOD))[0] == []
    for frame in (pf.range(3), read().union_all(read())):
        with pytest.raises(ValueError, match="failed_rows"):
            frame.failed_rows()


def test_keys_are_columns() -> None:
    keyed = read(
        schema={"k_id": T.int64(), "name": T.string(), "k_part": T.string()},
        key_format="json",
        key_fields=["k_id", "k_part"],
        key_fields_prefix="k_",
        value_fields_include="EXCEPT_KEY",
        format_options={"ignore-parse-errors": "true"},
    )
    messages = [
        message(0, b'{"name":"a"}', b'{"id":7,"part":"x"}'),
        message(1, b'{"name":"b"}', None),
        message(2, b'{"name":"c"}', b"broken"),
        message(3, b"broken", b'{"id":8}'),
        message(4, b'{"name":"d"}', b'{"id":9}'),
    ]
    assert decoded(keyed, *messages)[:2] == (
        [
            {"k_id": 7, "name": "a", "k_part": "x"},
            {"k_id": None, "name": "b", "k_part": None},
            {"k_id": 9, "name": "d", "k_part": None},
        ],
        [0, 1, 4],
    )
    assert decoded(keyed.select("k_id"), *messages)[0] == [{"k_id": 7}, {"k_id": None}, {"k_id": 8}, {"k_id": 9}]
    assert decoded(keyed.select("name"), *messages)[1] == [0, 1, 2, 4]


def test_each_partition_has_its_own_watermark() -> None:
    frame = read(computed_columns={"ts": "TO_TIMESTAMP_LTZ(id, 3)"}, watermark=("ts", "ts - INTERVAL '0.1' SECOND"))
    used = frame.filter("price > 1").select("ts", "name")
    assert "Scan kafka orders [id, name, price], watermarks of to_timestamp_ltz(id), delay 100 ms" in used.explain()
    assert "EventTime" not in used.explain().partition("== Optimized plan ==")[2]
    assert "EventTime" in frame.filter("price > 1").with_watermark("ts").explain().partition("== Optimized plan ==")[2]


def rows_to(frame: pf.DataFrame, **given: Any) -> RowSerialization:
    arguments = {"key_fields": None, "include": "ALL", "guarantee": "none", "prefix": None, "partitioner": None}
    made = {"formats": formats("json", None, (None, None), (None, None)), **arguments, **given}
    sink = kafka_sink(frame.schema, {"bootstrap.servers": "x:1"}, "out", *made.values())
    assert isinstance(sink._serializer, RowSerialization)
    return sink._serializer


def test_rows_become_messages_with_keys() -> None:
    frame = pf.from_dict({"id": [1], "name": ["a"]})
    columns = pa.RecordBatch.from_pydict({"id": [1, None], "name": ["a", "b"]}, frame.schema.arrow)
    assert rows_to(frame).messages(columns) == [
        {"value": b'{"id":1,"name":"a"}'},
        {"value": b'{"id":null,"name":"b"}'},
    ]
    with_key = formats("json", None, ("raw", None), (None, None))
    keyed = rows_to(frame, formats=with_key, key_fields=["name"])
    assert keyed.messages(columns)[0] == {"key": b"a", "value": b'{"id":1,"name":"a"}'}
    alone = rows_to(frame, formats=with_key, key_fields=["name"], include="EXCEPT_KEY")
    assert alone.messages(columns) == [{"key": b"a", "value": b'{"id":1}'}, {"key": b"b", "value": b'{"id":null}'}]
    assert alone.serialize((5, "z")) == KafkaMessage(topic="out", key=b"z", value=b'{"id":5}')


def test_guarantees() -> None:
    def sink(guarantee: str) -> Any:
        own = formats("json", None, (None, None), (None, None))
        return kafka_sink(
            pf.range(1).schema, {"bootstrap.servers": "x:1"}, "out", own, None, "ALL", guarantee, "mine", None
        )

    assert isinstance(sink("exactly-once"), TransactionalKafkaSink)
    assert isinstance(sink("at-least-once"), FlushingKafkaSink)


@pytest.mark.parametrize(
    ("partitioner", "expected"),
    [(KafkaPartitioner.FIXED, {1: "abcde"}), (KafkaPartitioner.ROUND_ROBIN, {2: "ad", 0: "be", 1: "c"})],
)
def test_partitioners(partitioner: KafkaPartitioner, expected: dict[int, str]) -> None:
    places = partitioner.places(3, subtask=4, first=5)
    assert {partition: "abcde"[place] for place, partition in places} == expected


def test_where_reading_starts_and_stops() -> None:
    assert source_of(read()).start == KafkaOffsetsInitializer.earliest()
    assert source_of(read()).discovery_interval_ms == 300_000
    assert source_of(read(topic_partition_discovery_interval=None)).discovery_interval_ms is None
    bounded = source_of(read(startup_mode="timestamp", startup_timestamp_millis=5, bounded_mode="latest-offset"))
    assert (bounded.start, bounded.stop) == (KafkaOffsetsInitializer.timestamp(5), KafkaOffsetsInitializer.latest())
    assert bounded.bounded
    at = source_of(read(startup_mode="specific-offsets", startup_specific_offsets={0: 7}))
    assert at.start == KafkaOffsetsInitializer.offsets({KafkaTopicPartition("orders", 0): 7})
    assert offsets_of("x", "partition:0,offset:42; partition:1,offset:300") == {0: 42, 1: 300}
    assert source_of(read(topic="a;b")).subscription.topics == ("a", "b")
    assert source_of(read(topic=None, topic_pattern="a.*")).subscription.pattern == "a.*"
    group = source_of(read(startup_mode="group-offsets", group_id="g", properties={"auto.offset.reset": "earliest"}))
    assert group.start == KafkaOffsetsInitializer.committed_offsets(type(group.start.otherwise).EARLIEST)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"topic": None}, ValueError, "topic_pattern"),
        ({"topic_pattern": "a"}, ValueError, "topic_pattern"),
        ({"topic": 5}, TypeError, "topic"),
        ({"topic": []}, ValueError, "topic"),
        ({"startup_mode": "group-offsets"}, ValueError, "group_id"),
        ({"startup_mode": "start"}, ValueError, "startup_mode"),
        ({"startup_mode": "timestamp"}, ValueError, "startup_timestamp_millis"),
        ({"startup_timestamp_millis": 5}, ValueError, "startup_timestamp_millis"),
        ({"bounded_mode": "earliest-offset"}, ValueError, "bounded_mode"),
        ({"bounded_specific_offsets": {0: 1}}, ValueError, "bounded_specific_offsets"),
        ({"bounded_mode": "specific-offsets", "bounded_specific_offsets": "0:1"}, ValueError, "partition:0"),
        ({"bounded_mode": "specific-offsets", "bounded_specific_offsets": {0: -1}}, ValueError, "-1"),
        ({"bounded_mode": "specific-offsets", "bounded_specific_offsets": {0: True}}, TypeError, "True"),
        ({"properties": {"group.id": "g"}}, ValueError, "group_id"),
        ({"properties": {"a": 5}}, TypeError, "properties"),
        ({"options": {"scan.parallelism": "2"}}, ValueError, r"scan\.parallelism"),
        ({"format": "xml"}, ValueError, "'xml'"),
        ({"format": "raw"}, ValueError, "one column"),
        ({"key_format": "json"}, ValueError, "key_fields"),
        ({"key_format": "json", "key_fields": ["nmae"]}, ValueError, "'nmae'"),
        ({"key_format": "json", "key_fields": []}, ValueError, "key_fields"),
        ({"key_format": "json", "key_fields": "id"}, TypeError, "key_fields"),
        ({"key_format": "json", "key_fields": ["id"], "key_fields_prefix": "i"}, ValueError, "EXCEPT_KEY"),
        ({"value_fields_include": "EXCEPT_KEY"}, ValueError, "key_format"),
        ({"key_format_options": {"a": "b"}}, ValueError, "key_format"),
        (
            {
                "format_options": {"ignore-parse-errors": "true"},
                "value_format_options": {"ignore-parse-errors": "false"},
            },
            ValueError,
            "different",
        ),
        ({"schema": {}}, ValueError, "schema"),
        ({"topic_partition_discovery_interval": 5}, TypeError, "interval"),
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        read(**given)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"delivery_guarantee": "exactly-once"}, ValueError, "transactional_id_prefix"),
        ({"delivery_guarantee": "twice"}, ValueError, "delivery_guarantee"),
        ({"partitioner": "org.example.Own"}, ValueError, "partitioner"),
        ({"topic": ""}, ValueError, "topic"),
        ({"sink_parallelism": 0}, ValueError, "parallelism"),
        ({"sink_parallelism": True}, TypeError, "parallelism"),
        ({"key_format": "json", "key_fields": ["id"], "value_fields_include": "EXCEPT_KEY"}, ValueError, "no column"),
    ],
)
def test_wrong_arguments_of_write_kafka_are_refused(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        pf.range(1).write_kafka("localhost:9092", **{"topic": "out", **given})
