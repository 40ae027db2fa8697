"""Runs queries of this example on Spark with two slots, one for each line: its name and the folder of its events."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from headgate.datastream import StreamExecutionEnvironment
from headgate.functions.flushing import FlushingSink, FlushingWriter
from headgate.functions.sink import SinkContext
from queries import q10, query
from run import spark_session
from streams import Events


class Discard(FlushingSink):
    """Takes records and drops them."""

    idempotent = True

    def flushing_writer(self, context: SinkContext) -> FlushingWriter:
        return Nothing()


class Nothing(FlushingWriter):
    def write(self, records: list[Any]) -> None:
        pass

    def flush(self) -> None:
        pass


def main() -> None:
    with spark_session() as spark:
        for line in sys.stdin:
            name, folder = line.split()
            log = Path(folder) / "log"
            env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(2)
            shutil.rmtree(log, ignore_errors=True)
            results = query(name)(Events(env, Path(folder)))
            if name == "q10":
                results.sink_to(q10.sink(log))
            else:
                results.sink_to(Discard())
            env.execute(name)
            print("done", flush=True)


if __name__ == "__main__":
    main()
