"""What runs the queries: each engine is a program of its own that runs a query for each line of its input."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyspark

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
WORK = HERE.parent / "work"
PEERS = ROOT / ".venv-peers" / "bin" / "python"
TIMEOUT_S = 300.0

NOT_IN_FLINK_SQL = {"q6": "Flink SQL has no OVER window above results that change"}
NOT_ON_PYFLINK = {"q10": "PyFlink has no file sink with a folder for each minute of event time"}


class QueryFailed(Exception):
    """A query has not been run; says why."""


@dataclass(frozen=True)
class Engine:
    """A program, and the Python and the events that it runs with."""

    name: str
    program: str
    events: int
    python: Path = Path(sys.executable)
    modules: Path = HERE.parent
    options: dict[str, list[str]] = field(default_factory=dict)
    cannot: dict[str, str] = field(default_factory=dict)
    is_compiled: bool = True

    @property
    def few(self) -> int:
        """How many events there are in the run that shows what it takes to start."""
        return self.events // 50


class Running:
    """An engine that runs; `run` has it run a query."""

    def __init__(self, engine: Engine) -> None:
        self._log = WORK / f"{engine.program}.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [str(engine.python), str(HERE / engine.program), json.dumps(engine.options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join([str(engine.modules), str(ROOT / "src")])},
                start_new_session=True,
            )

    def run(self, query: str, events: int) -> float:
        """Return the seconds of CPU time that a query took, in all processes. Raises `QueryFailed`."""
        before_s = self._cpu_s()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{query} {folder(events)}\n".encode())
            self._process.stdin.flush()
            self._wait()
        except BrokenPipeError as error:
            raise self._failure() from error
        return self._cpu_s() - before_s

    def close(self) -> None:
        """End all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _wait(self) -> None:
        assert self._process.stdout is not None
        due_s = time.monotonic() + TIMEOUT_S
        while select.select([self._process.stdout], [], [], max(0.0, due_s - time.monotonic()))[0]:
            line = self._process.stdout.readline()
            if line == b"done\n":
                return
            if not line:
                raise self._failure()
        raise QueryFailed(f"took more than {TIMEOUT_S:.0f} s")

    def _failure(self) -> QueryFailed:
        lines = re.findall(r"^[\w.]+(?:Error|Exception)\b.*", self._log.read_text(errors="replace"), re.MULTILINE)
        return QueryFailed(lines[-1] if lines else f"it ended; see {self._log}")

    def _cpu_s(self) -> float:
        """Return the CPU time so far of all processes, also of those that have ended."""
        root = psutil.Process(self._process.pid)
        spent_s = 0.0
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                spent_s += sum(process.cpu_times()[:4])
        return spent_s


def folder(events: int) -> Path:
    """Return where so many events are."""
    return WORK / f"events-{events}"


def engines(events: int, events_of_pyflink: int) -> list[Engine]:
    """Return those that are there, headgate first."""
    found = [Engine("headgate", "on_headgate.py", events), Engine("Spark SQL", "on_spark_sql.py", events)]
    if PEERS.exists():
        jars = {"jars": [str(jar) for jar in [*flink_jars(), *hadoop_jars()]]}
        replaced = with_pyflink(WORK / "with_pyflink")
        found += [
            Engine("Flink SQL", "on_flink_sql.py", events, PEERS, options=jars, cannot=NOT_IN_FLINK_SQL),
            Engine(
                "PyFlink", "on_pyflink.py", events_of_pyflink, PEERS, replaced, jars, NOT_ON_PYFLINK, is_compiled=False
            ),
        ]
    return found


def flink_jars() -> list[Path]:
    """Return what Flink needs to read Parquet; Maven fetches it once."""
    folder = WORK / "jars"
    if not list(folder.glob("*.jar")):
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), *goal], check=True)
    return list(folder.glob("*.jar"))


def hadoop_jars() -> list[Path]:
    return list((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar"))


def with_pyflink(folder: Path) -> Path:
    """Write the queries to a folder with another import root, and nothing else changed; return the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in [HERE.parent / "streams.py", *(HERE.parent / "queries").glob("*.py")]:
        copy = folder / path.relative_to(HERE.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(re.sub(r"^from headgate\b", "from pyflink", path.read_text(), flags=re.MULTILINE))
    return folder
