"""A company in a folder: a Kafka broker, PostgreSQL, a Spark cluster, and the job as its operators see it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg
from payments_check import Decision

from headgate.deploy.spark.java import ensure_java
from headgate.testing.servers.kafka import KafkaBroker
from headgate.testing.servers.postgres import PostgresServer
from headgate.testing.servers.spark import SparkCluster

HERE = Path(__file__).parent
PARTITIONS = {"payments": 4, "payment-rules": 1, "payment-alerts": 2, "payment-dead-letters": 1}
JOB = "payments"
DEADLINE_S = 120.0
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SPARK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "1g",
    "spark.executor.cores": "2",
    "spark.python.daemon.module": "headgate.deploy.spark.daemon",
    "spark.python.task.killTimeout": "100ms",
    "spark.ui.enabled": "false",
}


class DemoFailed(Exception):
    """The demo has not shown what it is to show."""


@dataclass(frozen=True)
class Site:
    """All servers, and the folder with their logs."""

    folder: Path
    broker: KafkaBroker
    database: str
    cluster: SparkCluster

    def audit(self) -> list[Decision]:
        """Return all rows of the audit."""
        return [Decision(*row) for row in self._query("SELECT * FROM payment_audit")]

    def audited(self) -> int:
        """Return how many rows the audit has."""
        return int(self._query("SELECT count(*) FROM payment_audit")[0][0])

    def decided_by(self, version: int) -> int:
        """Return on how many payments the rules of a version have decided."""
        return int(self._query(f"SELECT count(*) FROM payment_audit WHERE rules_version = {version:d}")[0][0])

    def _query(self, query: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(query).fetchall()


@contextmanager
def open_site(folder: Path) -> Iterator[Site]:
    """Start all servers, with topics and table; stop them, by their process ids, however the block ends."""
    (folder / "spark").mkdir()
    broker, postgres = KafkaBroker(folder / "kafka"), PostgresServer()
    cluster = SparkCluster(folder / "spark", workers=3)
    with ExitStack() as stack:
        with ThreadPoolExecutor() as beside:  # they start at the same time
            list(beside.map(stack.enter_context, [broker, postgres, cluster]))
        for topic, partitions in PARTITIONS.items():
            broker.create_topic(topic, partitions)
        database = postgres.create_database("bank")
        with psycopg.connect(database) as connection:
            connection.execute((HERE / "audit.sql").read_bytes())
        yield Site(folder, broker, database, cluster)


class Job:
    """The job, started, looked at and stopped with the command line, as its operators do."""

    def __init__(self, site: Site, checkpoint_ms: int) -> None:
        self._site = site
        self._checkpoint_ms = checkpoint_ms
        self._driver: subprocess.Popen[bytes] | None = None
        self._environ = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "JAVA_HOME": str(ensure_java()),
            "PYSPARK_PYTHON": sys.executable,
            "HEADGATE_RUN_DIR": str(site.folder / "run"),
            "PAYMENTS_DATABASE": site.database,
        }
        self._environ.pop("SPARK_HOME", None)

    def start(self, parallelism: int, savepoint: str | None = None) -> None:
        """Submit the job and return at once: `headgate run` goes on until the job ends."""
        conf = [f"--conf {shlex.quote(f'{key}={value}')}" for key, value in SPARK.items()]
        spark = ["--master", self._site.cluster.url, "--py-files", str(HERE / "payment_rules.py"), *conf]
        places = ["-D", f"headgate.storage.dir={self._site.folder / 'storage'}"]
        start = [] if savepoint is None else ["--fromSavepoint", savepoint]
        program = [str(HERE / "payments_job.py"), "--kafka", self._site.broker.bootstrap]
        command = ["run", *start, "-p", str(parallelism), *places, "--spark-submit", " ".join(spark), *program]
        command += ["--checkpoint-ms", str(self._checkpoint_ms)]
        with self.log.open("ab") as log:
            self._driver = subprocess.Popen(
                self._headgate(command), stdout=log, stderr=log, env=self._environ, start_new_session=True
            )

    def wait_until(self, holds: Callable[[], bool], what: str) -> float:
        """Block until something holds; return how many seconds that took.

        Raises DemoFailed when the job ends before, and after two minutes.
        """
        began_s = time.monotonic()
        while not holds():
            if self._driver is None or self._driver.poll() is not None:
                raise DemoFailed(f"the job has ended before {what}; {self.log} tells why")
            if time.monotonic() - began_s > DEADLINE_S:
                raise DemoFailed(f"waited {DEADLINE_S:.0f} s in vain until {what}")
            time.sleep(0.1)
        return time.monotonic() - began_s

    def stop(self, *options: str) -> str:
        """Stop the job with a savepoint, and wait for the end of its driver; return where the savepoint is."""
        target = ["--savepointPath", str(self._site.folder / "savepoints")]
        location = str(self._ask("stop", *target, *options, JOB)["location"])
        assert self._driver is not None
        if (code := self._driver.wait(DEADLINE_S)) != 0:
            raise DemoFailed(f"the driver ended with exit code {code}")
        self._driver = None
        return location

    def restores(self) -> int:
        """Return how often the job that runs has started from a checkpoint or savepoint."""
        return int(self._ask("checkpoints", JOB)["counts"]["restored"])

    def kill(self) -> None:
        """Kill whatever is left of the driver."""
        if self._driver is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self._driver.pid).children(recursive=True):
                process.kill()
        self._driver.kill()
        self._driver.wait()
        self._driver = None

    @property
    def log(self) -> Path:
        """Where the driver's output is."""
        return self._site.folder / "driver.log"

    def _ask(self, *words: str) -> Any:
        command = self._headgate([*words, "--json"])
        done = subprocess.run(
            command, env=self._environ, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
        if done.returncode != 0:
            raise DemoFailed(f"headgate {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def _headgate(self, words: list[str]) -> list[str]:
        return [sys.executable, "-m", "headgate", *words]
