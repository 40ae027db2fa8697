"""Runs the queries as batches of Spark SQL."""

from __future__ import annotations

import sys
from pathlib import Path

from figures.written import add
from run import spark_session
from tables import SQL, register


def main() -> None:
    with spark_session() as spark:
        for line in sys.stdin:
            name, folder, *results = line.split()
            register(spark, Path(folder))
            rows = spark.sql((SQL / f"{name}.sql").read_text())
            if results:
                add(Path(results[0]), rows.collect())
            elif name == "q10":
                rows.write.mode("overwrite").partitionBy("dt", "hm").csv(str(Path(folder) / "log"))
            else:
                rows.write.mode("overwrite").format("noop").save()
            print("done", flush=True)


if __name__ == "__main__":
    main()
