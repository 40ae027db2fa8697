"""A program for PyFlink: counts the lines of a Kafka topic by key into another one, exactly once.

The benchmark runs it as it is, and with nothing but the import root replaced. Its argument is JSON: `bootstrap`,
`source`, `target`, and `options`.
"""

import json
import sys

from pyflink.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    """Puts out each line with how many there have been of its key."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value},{count}"


def key_of(line):
    return line.partition(",")[0]


def source(bootstrap, topic):
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(topic)
        .set_group_id("keyed-count")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def sink(bootstrap, topic):
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(bootstrap)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic(topic)
            .set_value_serialization_schema(SimpleStringSchema())
            .build()
        )
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"keyed-count-{topic}")
        .set_property("transaction.timeout.ms", "840000")
        .build()
    )


def main(bootstrap, source_topic, target_topic, options):
    conf = Configuration()
    for key, value in options.items():
        conf.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    lines = env.from_source(source(bootstrap, source_topic), WatermarkStrategy.no_watermarks(), "lines")
    counted = lines.key_by(key_of, key_type=Types.STRING()).process(Count(), output_type=Types.STRING())
    counted.sink_to(sink(bootstrap, target_topic))
    env.execute("keyed count")


if __name__ == "__main__":
    given = json.loads(sys.argv.pop())
    main(given["bootstrap"], given["source"], given["target"], given["options"])
