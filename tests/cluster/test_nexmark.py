"""The queries of Nexmark give what Spark SQL gives; so they do on Spark with a worker killed on the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import frames
from figures.compare import EVENTS, ROW_GROUP, SETTINGS, write_closing
from figures.on_spark_streaming import run
from figures.written import plain, read
from frames import frame
from frames.events import EventFrames
from generator.events import Settings
from headgate import dataframe as pf
from headgate.common import Configuration
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.table import TableEnvironment
from inputs import write_inputs, write_parts
from queries import NAMES, PATTERNS, query
from results import difference, settled
from streams import Events
from tables import expected, register

RUN = Path(__file__).parents[2] / "examples" / "nexmark" / "run.py"


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark")
    write_inputs(folder, 8_000, Settings(seed=7, events_per_second=80), row_group=1_200)
    register(spark, folder)
    return folder


@pytest.mark.spark
@pytest.mark.parametrize("name", [*NAMES, *PATTERNS])
def test_a_query_gives_what_spark_sql_gives(name: str, spark: SparkSession, folder: Path) -> None:
    wanted = expected(spark, name)
    assert wanted
    for mode in (RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH):
        conf = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
        env = StreamExecutionEnvironment.get_execution_environment(conf).set_runtime_mode(mode).set_parallelism(2)
        with query(name)(Events(env, folder)).execute_and_collect() as records:
            assert difference(settled(name, (tuple(record) for record in records)), wanted) is None


@pytest.mark.spark
@pytest.mark.parametrize("name", frames.NAMES)
def test_a_data_frame_gives_what_spark_sql_gives(name: str, spark: SparkSession, folder: Path) -> None:
    wanted = expected(spark, name)
    assert wanted
    for mode in ("STREAMING", "BATCH"):
        settings = {"headgate.deploy.target": "minicluster", "parallelism.default": "2", "table.local-time-zone": "UTC"}
        conf = Configuration.from_dict({**settings, "execution.runtime-mode": mode})
        pf.set_table_environment(TableEnvironment.create(conf))
        try:
            found = frame(name)(EventFrames(folder)).collect()
        finally:
            pf.set_table_environment(None)
        assert difference(settled(name, (tuple(map(plain, row)) for row in found)), wanted) is None


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.long
@pytest.mark.parametrize("name", ["q3", "q9", "q19"])
def test_a_stream_of_spark_sql_gives_what_its_batch_gives(name: str, spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    write_inputs(tmp_path, EVENTS, SETTINGS, ROW_GROUP)
    write_parts(tmp_path)
    write_closing(tmp_path)
    register(session, tmp_path)
    wanted = expected(session, name)
    run(session, name, tmp_path, tmp_path / "results", str(tmp_path / "checkpoints"))
    assert difference(settled(name, read(tmp_path / "results").elements()), wanted) is None


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.long
@pytest.mark.parametrize(
    ("queries", "runs"), [(["q4", "q5", "q11", "p2"], 8), (["q0", "q1", "q2", "q14", "q21", "q22"], 12)]
)
def test_queries_survive_a_killed_worker(queries: list[str], runs: int) -> None:
    done = subprocess.run([sys.executable, str(RUN), *queries], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right") == runs + 2 * len({*queries} & {*frames.NAMES})
