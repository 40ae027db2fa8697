"""Runs the queries as Flink SQL. Needs the Python of PyFlink. Its argument is JSON: `jars`."""

import json
import sys
from pathlib import Path

from pyflink.common import Configuration, RowKind
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment, TableDescriptor
from written import add

SQL = Path(__file__).parent.parent / "sql" / "flink"

PERSON = "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING"
AUCTION = "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT"
BID = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING"
EVENTS = f"""
    event_type INT,
    `dateTime` BIGINT,
    person ROW<{PERSON}, `dateTime` BIGINT, extra STRING>,
    auction ROW<{AUCTION}, `dateTime` BIGINT, expires BIGINT, seller BIGINT, category BIGINT, extra STRING>,
    bid ROW<{BID}, `dateTime` BIGINT, extra STRING>,
    ts AS TO_TIMESTAMP_LTZ(`dateTime`, 3),
    p_time AS PROCTIME(),
    WATERMARK FOR ts AS ts - INTERVAL '4' SECOND
"""
FIELDS = {
    "person": ["id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra"],
    "auction": [
        "id",
        "itemName",
        "description",
        "initialBid",
        "reserve",
        "dateTime",
        "expires",
        "seller",
        "category",
        "extra",
    ],
    "bid": ["auction", "bidder", "price", "channel", "url", "dateTime", "extra"],
}


def configuration(jars):
    conf = Configuration()
    conf.set_string("pipeline.jars", ";".join(f"file://{jar}" for jar in jars))
    conf.set_string("parallelism.default", "2")
    conf.set_string("table.local-time-zone", "UTC")
    return conf


def tables(stream_env, folder):
    env = StreamTableEnvironment.create(stream_env)
    path = f"'path' = 'file://{folder}/"
    env.execute_sql(
        f"CREATE TABLE events ({EVENTS}) WITH ('connector' = 'filesystem', {path}events.parquet', 'format' = 'parquet')"
    )
    env.execute_sql(
        "CREATE TABLE side_input (key BIGINT, `value` STRING)"
        f" WITH ('connector' = 'filesystem', {path}side_input.csv', 'format' = 'csv')"
    )
    for number, (kind, fields) in enumerate(FIELDS.items()):
        columns = ", ".join(f"{kind}.`{field}`" for field in fields)
        env.execute_sql(f"CREATE VIEW {kind} AS SELECT {columns}, ts, p_time FROM events WHERE event_type = {number}")
    return env


def sink(query, folder):
    if query == "q10":
        files = TableDescriptor.for_connector("filesystem").option("path", f"file://{folder}/log").format("csv")
        return files.partitioned_by("dt", "hm").build()
    return TableDescriptor.for_connector("blackhole").build()


def add_changes(path, found):
    with found.execute().collect() as rows:
        for row in rows:
            is_added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
            add(path, [row], 1 if is_added else -1)


def main(jars):
    for line in sys.stdin:
        query, folder, *results = line.split()
        env = tables(StreamExecutionEnvironment.get_execution_environment(configuration(jars)), folder)
        found = env.sql_query((SQL / f"{query}.sql").read_text())
        if results:
            add_changes(Path(results[0]), found)
        else:
            found.execute_insert(sink(query, folder)).wait()
        print("done", flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
