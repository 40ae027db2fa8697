"""Runs the queries that are DataFrames on Spark, with two slots."""

from __future__ import annotations

import sys
from pathlib import Path

from figures.written import add
from frames import frame
from frames.events import EventFrames
from headgate.common import Configuration
from headgate.dataframe import set_table_environment
from headgate.table import TableEnvironment
from run import spark_session

SETTINGS = {"parallelism.default": "2", "table.local-time-zone": "UTC"}


def main() -> None:
    with spark_session():
        for line in sys.stdin:
            name, folder, *written = line.split()
            set_table_environment(TableEnvironment.create(Configuration.from_dict(SETTINGS)))
            results = frame(name)(EventFrames(Path(folder)))
            if written:
                add(Path(written[0]), results.collect())
            else:
                results.write_generic("blackhole", options={})
            print("done", flush=True)


if __name__ == "__main__":
    main()
