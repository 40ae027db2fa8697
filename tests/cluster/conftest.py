"""Spark for the tests of whole jobs: one local session, and one standalone cluster of a master and two workers."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headgate.deploy.spark import session as sessions
from headgate.deploy.spark.java import ensure_java
from headgate.testing.servers.spark import QUICK_JAVA, SparkCluster

# Other runs on the machine leave files in its folder for temporary ones, too, and tests look at what is left there.
TEMPORARY = tempfile.mkdtemp(prefix="headgate-tests-")
os.chmod(TEMPORARY, 0o755)  # for servers that refuse to run as root, and so run as another user
atexit.register(shutil.rmtree, TEMPORARY, ignore_errors=True)
os.environ["TMPDIR"] = tempfile.tempdir = TEMPORARY

Conf = dict[str, bool | float | int | str | None]


def make_session(conf: Conf, folder: Path) -> SparkSession:
    """A session whose workers are the Python that runs the tests; Spark's log goes into the folder."""
    log4j = folder / "log4j2.properties"
    log4j.write_text(sessions.LOG4J.format(file=folder / "spark.log", level="info"))
    os.environ["JAVA_HOME"] = str(ensure_java())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    sessions.stop_embedded()
    common: Conf = {
        "spark.app.name": "tests",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j}",
        "spark.python.task.killTimeout": "100ms",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
    }
    return SparkSession.builder.config(map={**common, **conf}).getOrCreate()


def stop(session: SparkSession) -> None:
    session.stop()
    sessions.end_jvm()


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the local session keeps its event log and its log."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    return folder


@pytest.fixture(scope="module")
def spark(spark_folder: Path) -> Iterator[SparkSession]:
    """A local session as a user would pass one, with UI and event log."""
    session = make_session(
        {
            "spark.master": "local[4]",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": str(spark_folder / "events"),
            "spark.ui.enabled": "true",  # the JVM keeps what a session before was started with
            "spark.ui.port": "0",
        },
        spark_folder,
    )
    yield session
    stop(session)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cluster_session(cluster: SparkCluster) -> Iterator[SparkSession]:
    session = make_session(
        {
            "spark.master": cluster.url,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "2",
            "spark.executor.extraJavaOptions": QUICK_JAVA,
            "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
            "spark.ui.enabled": "false",
        },
        cluster.folder,
    )
    yield session
    stop(session)
