"""Whole jobs on a standalone master with two workers: several executors, each with Python workers of its own."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration, WatermarkStrategy
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.datastream.connectors.file_system import Encoder, FileSink
from headgate.errors import EnvironmentFault, JobFailedError
from headgate.testing.servers.spark import SparkCluster
from tests.cluster.programs import Count, Fault, Tally, pids, recovery_s

pytestmark = pytest.mark.standalone

RECORDS = 4_000
KEYS = 10
SLOTS = 3


def key_of(value: int) -> int:
    return value % KEYS


def environment(spark: SparkSession, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({key.replace("_", "."): value for key, value in settings.items()})
    return StreamExecutionEnvironment.get_execution_environment(configuration, spark).set_parallelism(SLOTS)


def run_count(spark: SparkSession, count: Count, **settings: str) -> list[Any]:
    env = environment(spark, **settings)
    source = DataGeneratorSource(lambda index: index, RECORDS, 4_000)
    stream = env.from_source(source, None, "numbers").key_by(key_of).process(count)
    return list(stream.execute_and_collect("count on a cluster"))


RESTARTING = {
    "execution_checkpointing_interval": "100 ms",
    "restart-strategy_type": "fixed-delay",
    "restart-strategy_fixed-delay_delay": "0 s",
}
EXPECTED = Counter((key, count) for key in range(KEYS) for count in range(1, RECORDS // KEYS + 1))


@pytest.fixture
def storage(tmp_path: Path) -> dict[str, str]:
    return {"execution_checkpointing_dir": str(tmp_path / "checkpoints")}


@pytest.mark.parametrize("kind", ["kill the worker", "kill the executor"])
def test_whatever_is_killed_the_result_is_exact(
    cluster_session: SparkSession, tmp_path: Path, storage: dict[str, str], kind: str
) -> None:
    results = run_count(cluster_session, Count(tmp_path, Fault(kind, RECORDS // 2)), **RESTARTING, **storage)
    assert Counter(results) == EXPECTED
    ran = pids(tmp_path)
    assert len(ran) == 2 * SLOTS
    assert int((tmp_path / "fault").read_text().split()[0]) not in ran[SLOTS:]
    print(f"recovery, {kind}: {recovery_s(tmp_path):.3f} s")


MANY_KEYS = 1_000
INCREMENTAL = {"execution_checkpointing_incremental": "true"}
CHANGELOG = {
    "state_changelog_enabled": "true",
    "headgate_changelog_cut-interval": "30 ms",
    "state_changelog_periodic-materialize_interval": "200 ms",
}
ROCKSDB = {"state_backend_type": "rocksdb"}


def tallied() -> list[Any]:
    """What comes out when each number in turn is tallied once: its entry, and one for each key at the end."""
    entries = []
    seen: dict[int, list[int]] = {}
    for value in range(RECORDS):
        values = seen.setdefault(value % MANY_KEYS, [])
        values.append(value)
        entries.append((value % MANY_KEYS, len(values), len(values), last_by_rest(values)))
    return [*entries, *((key, len(values), values, last_by_rest(values)) for key, values in seen.items())]


def last_by_rest(values: list[int]) -> list[tuple[int, int]]:
    return sorted({value % 7: value for value in values}.items())


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(INCREMENTAL, id="hashmap, incremental", marks=pytest.mark.soak),
        pytest.param(CHANGELOG, id="hashmap, changelog"),
        pytest.param({**ROCKSDB, **INCREMENTAL}, id="rocksdb, incremental"),
        pytest.param({**ROCKSDB, **CHANGELOG}, id="rocksdb, changelog", marks=pytest.mark.soak),
    ],
)
def test_state_of_every_kind_and_timers_outlive_a_killed_worker(
    cluster_session: SparkSession, tmp_path: Path, storage: dict[str, str], backend: dict[str, str]
) -> None:
    settings = {**RESTARTING, **storage, **backend, "execution_checkpointing_interval": "50 ms"}
    env = environment(cluster_session, **settings)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    source = DataGeneratorSource(lambda index: index, RECORDS, 4_000)
    numbers = env.from_source(source, strategy, "numbers").set_parallelism(1)  # so in order for each key
    tally = Tally(tmp_path, Fault("kill the worker", RECORDS * 3 // 4))
    results = list(numbers.key_by(lambda value: value % MANY_KEYS).process(tally).execute_and_collect("tally"))
    assert sorted(map(repr, results)) == sorted(map(repr, tallied()))
    assert (tmp_path / "fault").exists()


@pytest.mark.soak
def test_a_dataframe_of_rows_within_rows_goes_through_a_cluster(
    cluster_session: SparkSession, tmp_path: Path, storage: dict[str, str]
) -> None:
    columns = (
        "id",
        "named_struct('n', id, 'half', cast(id / 2 as decimal(10, 1))) pair",
        "array(timestamp_seconds(id)) at",
    )
    frame = cluster_session.range(0, 1_000, 1, 4).selectExpr(*columns)
    back = environment(cluster_session, **storage).from_spark(frame).rebalance().to_spark()
    assert back.schema.simpleString() == frame.schema.simpleString()
    assert sorted(back.collect()) == frame.collect()
    assert [path for path in tmp_path.rglob("*.parquet") if "frames" in path.parts] == []


def test_a_job_without_shared_storage_is_refused_at_once(cluster_session: SparkSession, tmp_path: Path) -> None:
    began_s = time.monotonic()
    with pytest.raises(EnvironmentFault, match=r"execution\.checkpointing\.dir"):
        run_count(cluster_session, Count(tmp_path))
    assert time.monotonic() - began_s < 5.0


def test_storage_that_is_not_shared_is_found_out_at_the_start(cluster_session: SparkSession, tmp_path: Path) -> None:
    # The working folder of whoever asks: another one for the driver and for each executor.
    elsewhere = "/proc/self/cwd/.headgate-not-shared"
    try:
        with pytest.raises(JobFailedError, match=f"not shared: slot . on host .* does not see .*{elsewhere}"):
            run_count(cluster_session, Count(tmp_path), execution_checkpointing_dir=elsewhere)
    finally:
        remove(Path(elsewhere))
    assert pids(tmp_path) == []


def remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def test_a_worker_without_headgate_is_told_with_what_to_install(
    cluster_session: SparkSession, tmp_path: Path, storage: dict[str, str]
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    context = cluster_session.sparkContext
    before, context.pythonExec = context.pythonExec, str(bare)
    try:
        with pytest.raises(JobFailedError, match=r"no module '\w+'.*install 'headgate\[spark\]'.*PYSPARK_PYTHON"):
            run_count(cluster_session, Count(tmp_path), **storage)
    finally:
        context.pythonExec = before


def test_a_module_that_a_worker_lacks_is_named_with_how_to_ship_it(
    cluster_session: SparkSession, tmp_path: Path, storage: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules_of_mine.py").write_text("def late(value):\n    return value\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    env = environment(cluster_session, **storage).set_parallelism(1)
    late = importlib.import_module("rules_of_mine").late
    env.from_collection([1]).map(late).print()
    with pytest.raises(JobFailedError, match=r"needs module 'rules_of_mine'(.|\n)*add_python_file(.|\n)*--py-files"):
        env.execute()


def test_prints_and_logs_go_to_the_executors_logs_and_the_secret_does_not(
    cluster: SparkCluster, cluster_session: SparkSession, tmp_path: Path, storage: dict[str, str]
) -> None:
    env = environment(cluster_session, **storage).set_parallelism(2)
    env.from_collection(["find me"]).rebalance().map(str.upper).print()
    job: Any = env.submit("prints")
    secret = job._host._secret.reveal()
    assert job.wait(120.0).status.word == "finished"
    logs = b"".join(path.read_bytes() for path in cluster.folder.rglob("*") if path.is_file())
    assert b"FIND ME" in logs
    assert secret not in logs
    assert secret.hex().encode() not in logs


@pytest.mark.soak
@pytest.mark.long
def test_a_streaming_dataframe_feeds_a_job_exactly_once_though_an_executor_is_killed(
    cluster_session: SparkSession, tmp_path: Path, storage: dict[str, str]
) -> None:
    for first in range(0, RECORDS, 1_000):
        pq.write_table(pa.table({"n": list(range(first, first + 1_000))}), tmp_path / f"{first:04}.parquet")
    stream = cluster_session.readStream.schema("n long").option("maxFilesPerTrigger", 1).parquet(str(tmp_path))
    (tmp_path / "marks").mkdir()
    env = environment(cluster_session, **RESTARTING, **storage)
    rows = env.from_spark_stream(stream, str(tmp_path / "_query"), available_now=True)
    count = Count(tmp_path / "marks", Fault("kill the executor", RECORDS // 2 + 500))
    counts = rows.map(lambda row: row.n).key_by(key_of).process(count)
    assert Counter(counts.execute_and_collect("stream on a cluster")) == EXPECTED
    assert len(pids(tmp_path / "marks")) == 2 * SLOTS


def test_a_worker_killed_in_a_batch_job_costs_a_task_and_files_come_once(
    cluster_session: SparkSession, tmp_path: Path
) -> None:
    once = tmp_path / "killed"

    def kill_once(number: int) -> int:
        if number == 250 and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)  # a worker of this very job
        return number

    env = StreamExecutionEnvironment.get_execution_environment(spark=cluster_session).set_parallelism(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    numbers = env.from_collection(list(range(500))).map(kill_once)
    sums = numbers.key_by(lambda number: number % 7).reduce(lambda one, other: one + other)
    sums.map(str).sink_to(FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder()).build())
    env.execute()
    lines = [line for part in (tmp_path / "out").rglob("part-*") for line in part.read_text().splitlines()]
    assert once.exists()
    assert sorted(map(int, lines)) == sorted(sum(range(key, 500, 7)) for key in range(7))
