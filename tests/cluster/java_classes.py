"""Writes the Java classes that Spark loads into an archive: `python -m tests.cluster.java_classes ARCHIVE`.

A JVM that reads its classes from the archive starts, and runs its first query, in half of the processor time. What the
archive lacks is loaded as ever.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.deploy.spark.java import ensure_java
from headgate.deploy.spark.session import end_jvm
from headgate.testing.servers.spark import QUICK_JAVA
from tests.cluster.job_kinds import batch, data_frames, streaming, streaming_data_frames


def load_classes(folder: Path) -> None:
    """Load, in the JVM of this process, what drivers, executors, masters and workers of the tests load."""
    log = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(folder), "spark.ui.port": "0"}
    local = session("local[4]", log)
    for kind in (streaming, batch, data_frames, streaming_data_frames):
        (folder / kind.__name__).mkdir()
        kind(local, folder / kind.__name__)
    local.stop()
    cluster = session("local-cluster[1,2,600]", {"spark.executor.memory": "512m"})  # master and worker are in the JVM
    assert cluster.sparkContext.range(10).map(lambda number: number + 1).sum() == 55
    cluster.stop()


def session(master: str, conf: dict[str, Any]) -> SparkSession:
    common = {
        "spark.master": master,
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
    }
    made = SparkSession.builder.config(map={**common, **conf}).getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def main(archive: Path) -> None:
    """Write the archive when the JVM ends."""
    os.environ["JAVA_HOME"] = str(ensure_java())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_SUBMIT_OPTS"] = f"{QUICK_JAVA} -XX:ArchiveClassesAtExit={archive} -Xlog:disable"
    with tempfile.TemporaryDirectory() as folder:
        load_classes(Path(folder))
        gateway: Any = SparkContext._gateway
        end_jvm()
        gateway.proc.wait()  # for as long as it writes


if __name__ == "__main__":
    main(Path(sys.argv[1]))
