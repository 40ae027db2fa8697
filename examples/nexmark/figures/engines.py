"""What runs the queries: each engine is a program of its own that runs a query for each line of its input."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

import frames
from queries import NAMES

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
WORK = HERE.parent / "work"
PEERS = ROOT / ".venv-peers" / "bin" / "python"

NOT_A_FRAME = {name: "there is no program of DataFrames" for name in NAMES if name not in frames.NAMES}
NOT_IN_SPARK_STREAMING = {
    "q4": "streams of Spark SQL have no aggregation without a window behind another one",
    "q6": "streams of Spark SQL have no OVER window",
}
NOT_IN_FLINK_SQL = {"q6": "Flink SQL has no OVER window above results that change"}
NOT_ON_PYFLINK = {"q10": "PyFlink has no file sink with a folder for each minute of event time"}


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


def folder(events: int) -> Path:
    """Return where so many events are."""
    return WORK / f"events-{events}"


def engines(events: int, events_of_pyflink: int) -> list[Engine]:
    """Return those that are there, headgate first."""
    found = [
        Engine("headgate", "on_headgate.py", events),
        Engine("DataFrame", "on_frames.py", events, cannot=NOT_A_FRAME),
        Engine("Spark SQL", "on_spark_sql.py", events),
        Engine("Spark streaming", "on_spark_streaming.py", events, cannot=NOT_IN_SPARK_STREAMING),
    ]
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
