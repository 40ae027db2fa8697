"""Runs the queries as batches of Spark SQL, one for each line of input with its name.

Its argument is JSON: the `folder` of the events.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from run import spark_session
from tables import SQL, register


def main(folder: str) -> None:
    with spark_session() as spark:
        register(spark, Path(folder))
        for line in sys.stdin:
            name = line.strip()
            writer = spark.sql((SQL / f"{name}.sql").read_text()).write.mode("overwrite")
            if name == "q10":
                writer.partitionBy("dt", "hm").csv(str(Path(folder) / "log"))
            else:
                writer.format("noop").save()
            print("done", flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
