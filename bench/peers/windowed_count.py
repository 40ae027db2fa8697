"""A program for PyFlink: counts records by key in tumbling windows of event time, and prints how many a second.

Its argument is JSON: `keys`, `records_per_ms`, `window_ms`, `records`, and `options`. A table makes the records, with
their times, in the JVM. A job over half of them comes first and does not count, as the JVM compiles then; then one over
few, and one over all. The rate is of the difference between these two, so that the start of a job does not count.
"""

import json
import sys
import time

from pyflink.common import Configuration, Time, Types
from pyflink.datastream import AggregateFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import Sink
from pyflink.datastream.window import TumblingEventTimeWindows
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment


class Counted(AggregateFunction):
    """Counts the records of a window."""

    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


def key_of(record):
    return record[0]


def records_of(env, given, count):
    """Return a stream of so many records of random keys, with their times."""
    table_env = StreamTableEnvironment.create(env)
    table_env.execute_sql(f"""
        CREATE TABLE records (
            key INT,
            number BIGINT,
            ts AS TO_TIMESTAMP_LTZ(number / {given["records_per_ms"]}, 3),
            WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND
        ) WITH (
            'connector' = 'datagen', 'rows-per-second' = '1000000000',
            'fields.key.min' = '0', 'fields.key.max' = '{given["keys"] - 1}',
            'fields.number.kind' = 'sequence', 'fields.number.start' = '0', 'fields.number.end' = '{count - 1}'
        )
    """)
    return table_env.to_data_stream(table_env.sql_query("SELECT key, number, ts FROM records"))


def seconds(given, count):
    """Run over so many records; return how long that took."""
    conf = Configuration()
    for key, value in given["options"].items():
        conf.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(given["window_ms"]))
    keyed = records_of(env, given, count).key_by(key_of, key_type=Types.INT())
    counts = keyed.window(windows).aggregate(Counted(), accumulator_type=Types.LONG(), output_type=Types.LONG())
    counts.sink_to(Sink(get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()))
    began_s = time.monotonic()
    env.execute("windowed count")
    return time.monotonic() - began_s


def main(given):
    count = given["records"]
    few = count // 50
    seconds(given, count // 2)
    few_s, all_s = seconds(given, few), seconds(given, count)
    print(json.dumps({"rate": (count - few) / (all_s - few_s)}))


if __name__ == "__main__":
    main(json.loads(sys.argv.pop()))
