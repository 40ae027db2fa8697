"""Runs the queries as batches of Spark SQL, one for each line: its name and the folder of its events."""

from __future__ import annotations

import sys
from pathlib import Path

from run import spark_session
from tables import SQL, register


def main() -> None:
    with spark_session() as spark:
        for line in sys.stdin:
            name, folder = line.split()
            register(spark, Path(folder))
            writer = spark.sql((SQL / f"{name}.sql").read_text()).write.mode("overwrite")
            if name == "q10":
                writer.partitionBy("dt", "hm").csv(str(Path(folder) / "log"))
            else:
                writer.format("noop").save()
            print("done", flush=True)


if __name__ == "__main__":
    main()
