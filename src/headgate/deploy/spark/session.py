"""The Spark session of a program's jobs: the user's session, else an embedded session in local mode.

A process has at most one embedded session. It serves all jobs of the process and stops when the process exits. It
starts fast and keeps the console quiet: no UI, Spark's log in a file of its temporary folder, workers that end quickly
when their task is cancelled, and more task slots than a job needs.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from headgate.deploy.arguments import is_submitted
from headgate.deploy.spark import daemon, terminal
from headgate.deploy.spark.java import ensure_java
from headgate.deploy.spark.jvm_loss import JVM_ERRORS
from headgate.deploy.spark.preflight import check_machine, check_version, machine_slots
from headgate.deploy.spark.releases import conf_of
from headgate.deploy.spark.terminal import OutputEndpoint
from headgate.errors import EnvironmentFault

_log = logging.getLogger(__name__)

LOCAL_SLOTS_MIN: Final = 64
"""Smallest number of task slots of an embedded session. A task slot is only a permit; unused ones cost nothing."""

_OUTPUT: Final = "output"
JVM_END_S_MAX: Final = 10.0
"""Seconds to wait for the end of the JVM."""

LOG4J: Final = """\
status = error
rootLogger.level = {level}
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yy/MM/dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


def active(spark: SparkSession | None) -> SparkSession | None:
    """Return `spark`, else the active session, else None. Starts nothing.

    Raises EnvironmentFault when `spark` has been stopped.
    """
    if spark is not None:
        if _is_stopped(spark):
            raise EnvironmentFault(
                "the Spark session of the environment has been stopped: make a new one, and a new environment with "
                "get_execution_environment(spark=...)"
            )
        return spark
    if SparkContext._active_spark_context is None:
        return None
    # PySpark knows the active session only in the thread that made it; all threads use the same session.
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def _is_stopped(spark: SparkSession) -> bool:
    context = getattr(spark, "_sc", None)  # a session of Spark Connect has none
    return context is not None and context._jsc is None


def conf(spark: SparkSession | None) -> dict[str, str]:
    """Return the conf of `spark`, else of the active session, else of spark-submit; empty without any of them.

    Raises EnvironmentFault for a Spark that is too old, also for this Python, and for a session that was stopped.
    """
    session = active(spark)
    if session is not None:
        check_version(session.version, sys.version_info[:2])
        return conf_of(session)
    if not is_submitted():
        return {}
    SparkContext._ensure_initialized()  # the conf is in the JVM, which spark-submit has started
    return dict(SparkConf().getAll())


def default_parallelism(spark: SparkSession | None) -> int:
    """Return the parallelism of operators that set none: the session's cores but one, or the cores of this machine.

    Under spark-submit, this call makes the session.
    """
    session = active(spark)
    if session is None and is_submitted():
        session = SparkSession.builder.getOrCreate()
    cores = os.cpu_count() or 1
    if session is None or _embedded.is_ours(session):
        return cores
    return max(1, session.sparkContext.defaultParallelism - 1)


def obtain(spark: SparkSession | None, slots: int) -> SparkSession:
    """Return the session for a job with `slots` slots: `spark`, else the active session, else a new session.

    The new session has the settings of spark-submit if spark-submit started this process; otherwise it is the embedded
    session. Blocks for some seconds for a new session. Raises EnvironmentFault without a suitable Java.
    """
    found = active(spark)
    if found is not None:
        return found
    return SparkSession.builder.getOrCreate() if is_submitted() else _embedded.start(slots)


def stop_embedded() -> None:
    """Stop the embedded session, if there is one, and block until its JVM has ended. A later job makes a new one."""
    _embedded.stop()


def embedded_max(session: SparkSession) -> int | None:
    """Return the largest number of slots for this machine if the session is the embedded session, else None."""
    return machine_slots(os.cpu_count() or 1, _memory_mb()) if _embedded.is_ours(session) else None


@final
class _EmbeddedSession:
    """The embedded session of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._folder: Path | None = None
        self._output: OutputEndpoint | None = None

    def is_ours(self, session: SparkSession) -> bool:
        """Return whether this is the embedded session or was derived from it."""
        return self._session is not None and self._session.sparkContext is session.sparkContext

    def start(self, slots: int) -> SparkSession:
        with self._lock:
            if self._session is not None and _is_stopped(self._session):
                self._end()  # the program stopped it: programs may stop any active session
            if self._session is None:
                check_machine(slots, os.cpu_count() or 1, _memory_mb())
                self._folder = Path(tempfile.mkdtemp(prefix="headgate-spark-"))
                self._output = _output_endpoint(self._folder / _OUTPUT)
                self._session = _make(max(LOCAL_SLOTS_MIN, 2 * slots), self._folder)
                atexit.register(self.stop)
            return self._session

    def stop(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            atexit.unregister(self.stop)
            with contextlib.suppress(*JVM_ERRORS):  # its JVM has died
                session.stop()
            end_jvm()
        if self._output is not None:
            self._output.close()
            self._output = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


_embedded: Final = _EmbeddedSession()


def _memory_mb() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20


def _output_endpoint(path: Path) -> OutputEndpoint | None:
    try:
        return OutputEndpoint(path)
    except OSError as error:  # for instance a path that is too long for a socket
        _log.info("what slots print goes to standard error: %s", error)
        return None


def _make(slots: int, folder: Path) -> SparkSession:
    variables = {
        "JAVA_HOME": str(ensure_java()),
        "PYSPARK_PYTHON": sys.executable,
        terminal.VARIABLE: str(folder / _OUTPUT),
    }
    with _environment(**variables), _same_interrupt_handler():
        session = SparkSession.builder.config(map=_settings(slots, folder)).getOrCreate()
    _log.info("made a Spark session in this process (local mode); its log is %s", folder / "spark.log")
    return session


def end_jvm() -> None:
    """End the JVM of a stopped session and wait for its end: otherwise it would outlive this process for a moment."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    jvm = getattr(gateway, "proc", None)
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    if jvm is not None:
        jvm.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            jvm.wait(JVM_END_S_MAX)


def _settings(slots: int, folder: Path) -> dict[str, bool | float | int | str | None]:
    log4j = folder / "log4j2.properties"
    log4j.write_text(LOG4J.format(file=folder / "spark.log", level="warn"))
    cores = str(os.cpu_count() or 1)
    return {
        "spark.master": f"local[{slots}]",
        "spark.app.name": "headgate",
        "spark.default.parallelism": cores,
        "spark.sql.shuffle.partitions": cores,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j} -XX:+UseSerialGC -Xshare:auto",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.python.daemon.module": daemon.MODULE,
        "spark.python.task.killTimeout": "100ms",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set environment variables for processes that start inside the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _same_interrupt_handler() -> Iterator[None]:
    """Restore the handler of Ctrl-C. A new SparkContext makes Ctrl-C cancel all Spark jobs, like a lost stage."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)
