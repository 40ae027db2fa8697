"""Spark for the tests of whole jobs: one local session, and one standalone cluster of a master and two workers."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyspark
import pytest
from pyspark.sql import SparkSession

from headgate.deploy.spark import session as sessions
from headgate.deploy.spark.java import ensure_java

# Other runs on the machine leave files in its folder for temporary ones, too, and tests look at what is left there.
TEMPORARY = tempfile.mkdtemp(prefix="headgate-tests-")
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
            "spark.ui.port": "0",
        },
        spark_folder,
    )
    yield session
    stop(session)


class StandaloneCluster:
    """A master and workers of Spark's own cluster manager, as processes of this machine."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self._names = [f"worker-{number}" for number in range(workers)]
        self._daemons: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def start(self) -> None:
        self._daemon("master", "org.apache.spark.deploy.master.Master", "--port", "0")
        self.url = self._wait_for("master", r"Starting Spark master at (spark://\S+)")
        for name in self._names:
            work = ("--work-dir", str(self.folder / name), "--cores", "2", "--memory", "600m")
            self._daemon(name, "org.apache.spark.deploy.worker.Worker", "--port", "0", *work, self.url)
        for name in self._names:
            self._wait_for(name, r"(Successfully registered) with master")

    def _daemon(self, name: str, *arguments: str) -> None:
        environ = {
            **os.environ,
            "JAVA_HOME": str(ensure_java()),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "200m",
        }
        environ.pop("PYTHONPATH", None)
        spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        places = ("--host", "127.0.0.1", "--webui-port", "0")
        command = [str(spark_class), arguments[0], *places, *arguments[1:]]
        with (self.folder / f"{name}.log").open("wb") as log:
            self._daemons.append(subprocess.Popen(command, stdout=log, stderr=log, env=environ, cwd=self.folder))

    def _wait_for(self, name: str, pattern: str) -> str:
        due_s = time.monotonic() + 60.0
        while (found := re.search(pattern, (self.folder / f"{name}.log").read_text())) is None:
            assert time.monotonic() < due_s, (self.folder / f"{name}.log").read_text()
            time.sleep(0.1)
        return found[1]

    def processes(self) -> list[psutil.Process]:
        """Return all processes of the cluster that live, executors and Python workers too."""
        found: list[psutil.Process] = []
        for daemon in self._daemons:
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(daemon.pid)
                found += [process, *process.children(recursive=True)]
        return found

    def stop(self) -> None:
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for daemon in self._daemons:
            daemon.wait()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def cluster_session(cluster: StandaloneCluster) -> Iterator[SparkSession]:
    session = make_session(
        {
            "spark.master": cluster.url,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "2",
            "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
            "spark.ui.enabled": "false",
        },
        cluster.folder,
    )
    yield session
    stop(session)
