"""Spark for the tests of whole jobs: one local session, and one standalone cluster of a master and two workers."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.deploy.spark import session as sessions
from headgate.deploy.spark.java import ensure_java
from headgate.testing.servers.spark import SparkCluster
from tests.quick_java import quick_java

# Other runs on the machine leave files in its folder for temporary ones, too, and tests look at what is left there.
# It is not in the folder of a process that started this one: the name of a socket has little room.
OUTERMOST = os.environ.setdefault("HEADGATE_TESTS_TMPDIR", tempfile.gettempdir())
TEMPORARY = tempfile.mkdtemp(prefix="headgate-tests-", dir=OUTERMOST)
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


class KeptSession:
    """The Spark session of this process: a test that wants one like it has the same, else it ends first.

    Starting one costs as much as some tests take. It ends when a test of another module is next that wants none: where
    there is a session, programs use it.
    """

    def __init__(self) -> None:
        self._fixture = ""
        self._session: SparkSession | None = None

    def of(self, fixture: str, make: Callable[[], SparkSession]) -> SparkSession:
        """Return a session with its own settings and views, on the context that the tests of a fixture share."""
        if self._session is None or self._fixture != fixture:
            self.end()
            self._fixture, self._session = fixture, make()
        session = self._session.newSession()
        # As a session that a user makes is: Spark looks for data sources of Python in the active one.
        jvm: Any = session._jvm
        jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)
        return session

    def end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            stop(session)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if nextitem is None or (nextitem.path != item.path and self._fixture not in fixtures_of(nextitem)):
            self.end()


def fixtures_of(item: pytest.Item) -> list[str]:
    """Return the names of the fixtures that a test asks for."""
    return list(getattr(item, "fixturenames", ()))


KEPT = KeptSession()


@pytest.fixture(scope="session")
def kept_session(request: pytest.FixtureRequest) -> Iterator[KeptSession]:
    """The one session of this process. A module elsewhere that imports the fixture has a fixture of its own."""
    if not request.config.pluginmanager.is_registered(KEPT):
        request.config.pluginmanager.register(KEPT)
    yield KEPT
    KEPT.end()


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the local session keeps its event log and its log."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    return folder


@pytest.fixture(scope="module")
def spark(kept_session: KeptSession, spark_folder: Path) -> SparkSession:
    """A local session as a user would pass one, with UI and event log."""
    conf: Conf = {
        "spark.master": "local[4]",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": str(spark_folder / "events"),
        "spark.ui.enabled": "true",  # the JVM keeps what a session before was started with
        "spark.ui.port": "0",
    }
    return kept_session.of("spark", lambda: make_session(conf, spark_folder))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cluster_session(kept_session: KeptSession, cluster: SparkCluster) -> SparkSession:
    conf: Conf = {
        "spark.master": cluster.url,
        "spark.executor.memory": "512m",
        "spark.executor.cores": "2",
        "spark.executor.extraJavaOptions": quick_java(),
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
        "spark.ui.enabled": "false",
    }
    return kept_session.of("cluster_session", lambda: make_session(conf, cluster.folder))
