"""Topics of Kafka as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headgate.config_kinds import DURATION_MS
from headgate.dataframe.connectors.files import read_columns, schema_of
from headgate.dataframe.connectors.options import text
from headgate.dataframe.data_type import DataType
from headgate.dataframe.dataframe import DataFrame

if TYPE_CHECKING:
    from headgate.connectors.kafka.offsets import KafkaOffsetsInitializer

Offsets = Mapping[int, int] | str
"""Offsets by partition, also as text: "partition:0,offset:42;partition:1,offset:300"."""


def read_kafka(  # noqa: PLR0913  # PyFlink's arguments
    bootstrap_servers: str,
    *,
    schema: Mapping[str, DataType],
    topic: str | list[str] | None = None,
    topic_pattern: str | None = None,
    group_id: str | None = None,
    format: str = "json",
    format_options: Mapping[str, str] | None = None,
    key_format: str | None = None,
    key_format_options: Mapping[str, str] | None = None,
    key_fields: list[str] | None = None,
    key_fields_prefix: str | None = None,
    value_format: str | None = None,
    value_format_options: Mapping[str, str] | None = None,
    value_fields_include: str = "ALL",
    startup_mode: str = "group-offsets",
    startup_specific_offsets: Offsets | None = None,
    startup_timestamp_millis: int | None = None,
    topic_partition_discovery_interval: str | None = "5 min",
    bounded_mode: str = "unbounded",
    bounded_timestamp_millis: int | None = None,
    bounded_specific_offsets: Offsets | None = None,
    properties: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    computed_columns: Mapping[str, str] | None = None,
    watermark: tuple[str, str] | None = None,
) -> DataFrame:
    """Return a DataFrame of the messages of topics of Kafka, each a row, read exactly once.

    Either `topic`, a name or several, or `topic_pattern`, a regular expression for whole names, chooses the topics. New
    partitions, and new topics of a pattern, are found every `topic_partition_discovery_interval`, None for never.

    `format` is the format of values: json, csv, avro, avro-confluent, or raw for one column of STRING or BYTES. Only
    the columns that the plan uses are decoded. A message that does not fit fails the job, which names its topic,
    partition and offset. With `format_options={"ignore-parse-errors": "true"}` it is left out, and `failed_rows()`
    returns such messages. Messages without a value are left out.

    Keys are ignored unless `key_format` and `key_fields`, a list of columns, are given. With
    `value_fields_include="EXCEPT_KEY"` these columns are read from the key alone, whose fields have the names of the
    columns without `key_fields_prefix`.

    `startup_mode` is where a job without a snapshot begins: earliest-offset, latest-offset, group-offsets, timestamp or
    specific-offsets. `bounded_mode` is where it ends: unbounded, latest-offset, group-offsets, timestamp or
    specific-offsets. `properties` are settings of librdkafka's consumer. `computed_columns` and `watermark` are as in
    `read_parquet`; each partition has its own watermark, and the lowest counts.

    Raises TypeError and ValueError for wrong arguments.

    >>> frame = read_kafka("localhost:9092", topic="orders", startup_mode="earliest-offset", schema={
    ...     "id": DataType.int64(), "price": DataType.float64()})
    >>> frame.columns
    ['id', 'price']
    """
    # Imports the client of Kafka, which is an extra.
    from headgate.connectors.kafka.source import Subscription  # noqa: PLC0415
    from headgate.dataframe.connectors import kafka_arguments as arguments  # noqa: PLC0415
    from headgate.dataframe.connectors.kafka_scan import KafkaScan, MessageParts  # noqa: PLC0415

    if (topic is None) == (topic_pattern is None):
        raise ValueError("read_kafka() takes either topic or topic_pattern")
    topics = () if topic is None else arguments.topics_of(topic)
    arguments.refuse_options(options)
    own = schema_of(schema)
    value, key = arguments.formats(
        format, format_options, (key_format, key_format_options), (value_format, value_format_options)
    )
    client = arguments.clients(bootstrap_servers, group_id, properties)
    interval_ms = 0
    if topic_partition_discovery_interval is not None:
        interval = text("topic_partition_discovery_interval", topic_partition_discovery_interval)
        interval_ms = DURATION_MS.parse(interval)
    start = _offsets("startup", startup_mode, (startup_timestamp_millis, startup_specific_offsets), topics, client)
    stop = _offsets("bounded", bounded_mode, (bounded_timestamp_millis, bounded_specific_offsets), topics, client)
    assert start is not None
    scan = KafkaScan(
        parts=MessageParts(
            schema=own,
            value=value,
            key=key,
            key_fields=arguments.key_columns(own, key, key_fields, key_fields_prefix, value_fields_include),
            value_has_key=value_fields_include == arguments.ALL,
        ),
        properties={**client, "partition.discovery.interval.ms": str(interval_ms)},
        subscription=Subscription.to_pattern(topic_pattern)
        if topic_pattern is not None
        else Subscription(topics=topics),
        start=start,
        stop=stop,
    )
    scan.source(own.names)  # raises for a column whose type a format lacks
    name = f"kafka {topic_pattern if topic_pattern is not None else ';'.join(topics)}"
    return read_columns(scan, name, computed_columns, watermark)


def _offsets(
    kind: str,
    mode: str,
    given: tuple[int | None, Offsets | None],
    topics: tuple[str, ...],
    client: Mapping[str, Any],
) -> KafkaOffsetsInitializer | None:
    """Return where to start or to stop, None for never. `kind` is startup or bounded, as in the names of the arguments.

    `given` is the timestamp and the specific offsets, if any.
    """
    from headgate.connectors.kafka.offsets import (  # noqa: PLC0415
        KafkaOffsetResetStrategy,
        KafkaOffsetsInitializer,
        KafkaTopicPartition,
    )
    from headgate.dataframe.connectors import kafka_arguments as arguments  # noqa: PLC0415

    timestamp_ms, specific = given
    first = "earliest-offset" if kind == "startup" else "unbounded"
    arguments.choice(f"{kind}_mode", mode, first, "latest-offset", "group-offsets", "timestamp", "specific-offsets")
    for argument, own, needed in (
        (f"{kind}_timestamp_millis", timestamp_ms, "timestamp"),
        (f"{kind}_specific_offsets", specific, "specific-offsets"),
    ):
        if (own is not None) != (mode == needed):
            raise ValueError(f"{argument} goes with {kind}_mode={needed!r}, but {kind}_mode is {mode!r}")
    match mode:
        case "unbounded":
            return None
        case "earliest-offset":
            return KafkaOffsetsInitializer.earliest()
        case "latest-offset":
            return KafkaOffsetsInitializer.latest()
        case "timestamp":
            if isinstance(timestamp_ms, bool) or not isinstance(timestamp_ms, int):
                raise TypeError(f"{kind}_timestamp_millis is an int, not {timestamp_ms!r}")
            return KafkaOffsetsInitializer.timestamp(timestamp_ms)
        case "group-offsets":
            if "group.id" not in client:
                raise ValueError(f"{kind}_mode='group-offsets' needs group_id; or choose another {kind}_mode")
            reset = client.get("auto.offset.reset", "error")
            strategy = KafkaOffsetResetStrategy.NONE if reset == "error" else KafkaOffsetResetStrategy(reset)
            return KafkaOffsetsInitializer.committed_offsets(strategy)
    if len(topics) != 1:
        raise ValueError(f"{kind}_mode='specific-offsets' needs a single topic")
    given_offsets = arguments.offsets_of(f"{kind}_specific_offsets", specific)
    return KafkaOffsetsInitializer.offsets(
        {KafkaTopicPartition(topics[0], number): offset for number, offset in given_offsets.items()}
    )
