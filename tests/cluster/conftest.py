"""Spark for the tests of whole jobs: one local session, and one standalone cluster of a master and two workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.deploy.spark import session as sessions
from headgate.deploy.spark.java import ensure_java

Conf = dict[str, bool | float | int | str | None]


def make_session(conf: Conf) -> SparkSession:
    """A session whose workers are the Python that runs the tests."""
    os.environ["JAVA_HOME"] = str(ensure_java())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    sessions.stop_embedded()
    return SparkSession.builder.config(map=conf).getOrCreate()


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the local session keeps its event log and its log."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    return folder


@pytest.fixture(scope="module")
def spark(spark_folder: Path) -> Iterator[SparkSession]:
    """A local session as a user would pass one, with UI and event log."""
    log4j = spark_folder / "log4j2.properties"
    log4j.write_text(sessions.LOG4J.format(file=spark_folder / "spark.log", level="info"))
    session = make_session(
        {
            "spark.master": "local[4]",
            "spark.app.name": "tests",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j}",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": str(spark_folder / "events"),
            "spark.python.task.killTimeout": "100ms",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.port": "0",
            "spark.ui.showConsoleProgress": "false",
        }
    )
    yield session
    session.stop()
