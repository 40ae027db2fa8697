"""Runs the queries of this example on Spark, with two slots."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from figures.written import add
from headgate.datastream import StreamExecutionEnvironment
from headgate.functions.flushing import FlushingSink, FlushingWriter
from headgate.functions.sink import Sink, SinkContext
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
            name, folder, *written = line.split()
            log = Path(folder) / "log"
            env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(2)
            shutil.rmtree(log, ignore_errors=True)
            results = query(name)(Events(env, Path(folder)))
            if written:
                with results.execute_and_collect(name) as rows:
                    add(Path(written[0]), rows)
            else:
                sink: Sink[Any] = q10.sink(log) if name == "q10" else Discard()
                results.sink_to(sink)
                env.execute(name)
            print("done", flush=True)


if __name__ == "__main__":
    main()
