"""Runs the queries of this example on PyFlink.

Needs the Python of PyFlink, and the queries with the import root replaced on the `PYTHONPATH`. Their events come from a
table, as rows of PyFlink's Parquet source cannot be read in Python. Its argument is JSON: `jars`.
"""

import json
import sys
from pathlib import Path

from on_flink_sql import configuration, tables
from pyflink.common import Duration, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import Sink
from pyflink.java_gateway import get_gateway
from written import add

from queries import query
from streams import Events, EventTime


class OfTable(Events):
    def read(self, *kinds):
        table_env = tables(self.env, self.folder)
        table = table_env.sql_query(f"SELECT `dateTime`, {', '.join(kinds)} FROM events")
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(4))
        events = table_env.to_data_stream(table)
        return events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))


def main(jars):
    for line in sys.stdin:
        name, folder, *written = line.split()
        conf = configuration(jars)
        conf.set_string("python.executable", sys.executable)
        conf.set_string("python.client.executable", sys.executable)
        env = StreamExecutionEnvironment.get_execution_environment(conf)
        discard = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
        results = query(name)(OfTable(env, Path(folder)))
        if written:
            with results.execute_and_collect(name) as rows:
                add(Path(written[0]), rows)
        else:
            results.sink_to(Sink(discard))
            env.execute(name)
        print("done", flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
