"""A standalone Spark cluster for tests: a master and workers of Spark's own cluster manager, as processes of this host.

    with SparkCluster(folder, workers=3) as cluster:
        SparkSession.builder.master(cluster.url)
        ...
        cluster.executors()[0].kill()

It needs pyspark and psutil. If there is no Java, it uses the one that `headgate[spark]` installs.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self, final

import psutil

from headgate.deploy.spark.java import ensure_java
from headgate.errors import EnvironmentFault

_START_DEADLINE_S: Final = 120.0
QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a JVM that runs briefly: it starts sooner, and needs half of the processor time."""
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR: Final = "CoarseGrainedExecutorBackend"


@final
class SparkCluster:
    """A master and workers of two cores each. Their logs and work are in `folder`, which must exist.

    Entering, or `start`, blocks until all workers are registered, for two minutes at most: then `EnvironmentFault` is
    raised. Leaving, or `stop`, kills all processes of the cluster, executors and their Python workers too.

    The JVMs of master and workers are started with `SPARK_DAEMON_JAVA_OPTS` of the environment, else with `QUICK_JAVA`.
    """

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self.url = ""
        self._names = [f"worker-{number}" for number in range(workers)]
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start the master, then the workers; block until the workers are registered."""
        self._daemon("master", _MASTER, "--port", "0")
        self.url = self._wait_for("master", r"Starting Spark master at (spark://\S+)")
        for name in self._names:
            work = ("--work-dir", str(self.folder / name), "--cores", "2", "--memory", "600m")
            self._daemon(name, _WORKER, "--port", "0", *work, self.url)
        for name in self._names:
            self._wait_for(name, r"(Successfully registered) with master")

    def processes(self) -> list[psutil.Process]:
        """Return all running processes of the cluster, executors and Python workers too."""
        found: list[psutil.Process] = []
        for daemon in self._daemons:
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(daemon.pid)
                found += [process, *process.children(recursive=True)]
        return found

    def executors(self) -> list[psutil.Process]:
        """Return the JVMs that run the tasks of applications."""
        return self._running(_EXECUTOR)

    def workers(self) -> list[psutil.Process]:
        """Return the JVMs that start executors when an application asks for them."""
        return self._running(_WORKER)

    def python_workers(self) -> list[psutil.Process]:
        """Return the processes that run Python code, such as slots: the forks of the executors' daemons."""
        daemons = [daemon for executor in self.executors() for daemon in _children(executor)]
        return [worker for daemon in daemons for worker in _children(daemon)]

    def _running(self, name: str) -> list[psutil.Process]:
        return [each for each in self.processes() if name in " ".join(_command(each))]

    def stop(self) -> None:
        """Kill all processes of the cluster; block until its daemons have ended."""
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for daemon in self._daemons:
            daemon.wait()
        self._daemons.clear()

    def _daemon(self, name: str, *arguments: str) -> None:
        environ = {
            **os.environ,
            "JAVA_HOME": str(ensure_java()),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "200m",
            "SPARK_DAEMON_JAVA_OPTS": os.environ.get("SPARK_DAEMON_JAVA_OPTS", QUICK_JAVA),
        }
        environ.pop("PYTHONPATH", None)
        places = ("--host", "127.0.0.1", "--webui-port", "0")
        command = [str(_spark_class()), arguments[0], *places, *arguments[1:]]
        with self._log(name).open("wb") as log:
            started = subprocess.Popen(
                command, stdout=log, stderr=log, env=environ, cwd=self.folder, start_new_session=True
            )
        self._daemons.append(started)

    def _wait_for(self, name: str, pattern: str) -> str:
        due_s = time.monotonic() + _START_DEADLINE_S
        while (found := re.search(pattern, self._log(name).read_text())) is None:
            if time.monotonic() > due_s:
                raise EnvironmentFault(f"the {name} of a Spark cluster does not start: {self._log(name).read_text()}")
            time.sleep(0.1)
        return found[1]

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


def _spark_class() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EnvironmentFault("a Spark cluster for tests is started from pyspark: pip install 'headgate[spark]'")
    return Path(spec.origin).parent / "bin" / "spark-class"


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children())
    except psutil.Error:
        return []
