"""Whole jobs in Spark's local mode, on a session passed in."""

from __future__ import annotations

import base64
import gc
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration, Row, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.checkpoint_storage import JobManagerCheckpointStorage
from headgate.errors import ConfigError, EnvironmentFault, JobFailedError
from tests.cluster.programs import Count, Fault, pids, recovery_s

pytestmark = pytest.mark.spark

RECORDS = 4_000
KEYS = 10


def environment(spark: SparkSession, **settings: str) -> StreamExecutionEnvironment:
    conf = Configuration.from_dict({key.replace("_", "."): value for key, value in settings.items()})
    env = StreamExecutionEnvironment.get_execution_environment(conf, spark)
    env.set_parallelism(2)
    return env


def checkpointed(spark: SparkSession) -> StreamExecutionEnvironment:
    env = environment(spark)
    env.enable_checkpointing(50)
    fixed = "restart-strategy.fixed-delay"
    env.configure(Configuration.from_dict({"restart-strategy.type": "fixed-delay", f"{fixed}.delay": "0 s"}))
    return env


def key_of(value: int) -> int:
    return value % KEYS


def run_count(env: StreamExecutionEnvironment, count: Count, rate: float | None = None) -> list[Any]:
    source = DataGeneratorSource(lambda index: index, RECORDS, rate)
    stream = env.from_source(source, None, "numbers").key_by(key_of).process(count)
    return list(stream.execute_and_collect("count"))


EXPECTED = Counter((key, count) for key in range(KEYS) for count in range(1, RECORDS // KEYS + 1))


def test_a_keyed_count_over_two_slots_is_exact(spark: SparkSession, tmp_path: Path) -> None:
    assert Counter(run_count(environment(spark), Count(tmp_path))) == EXPECTED
    assert len(set(pids(tmp_path))) == 2


def test_an_exception_restarts_the_job_in_the_same_processes(spark: SparkSession, tmp_path: Path) -> None:
    results = run_count(checkpointed(spark), Count(tmp_path, Fault("exception", RECORDS // 2)), rate=8_000)
    assert Counter(results) == EXPECTED
    ran = pids(tmp_path)
    assert (len(ran), len(set(ran))) == (4, 2)
    print(f"recovery after an exception: {recovery_s(tmp_path):.3f} s")


def test_after_an_exception_the_slots_read_the_copies_on_their_own_disk(spark: SparkSession, tmp_path: Path) -> None:
    disks, marks = tmp_path / "disks", tmp_path / "marks"
    for folder in (disks, marks):
        folder.mkdir()
    env = checkpointed(spark)
    settings = {
        "execution.checkpointing.local-backup.enabled": "true",
        "execution.checkpointing.data-inline-threshold": "0 b",
        "io.tmp.dirs": str(disks),
    }
    env.configure(Configuration.from_dict(settings))
    source = DataGeneratorSource(lambda index: index, RECORDS, 8_000.0)
    counts = (
        env.from_source(source, None, "numbers").key_by(key_of).process(Count(marks, Fault("exception", RECORDS // 2)))
    )
    counts.filter(lambda pair: False).print()
    counters = env.execute("count").get_all_accumulator_results()
    assert counters["local_restored_files"] == 2
    assert counters["remote_restored_files"] == 0
    assert list(disks.iterdir()) == []


def test_checkpoints_in_the_drivers_memory_outlive_the_workers(spark: SparkSession, tmp_path: Path) -> None:
    env = checkpointed(spark)
    env.get_checkpoint_config().set_checkpoint_storage(JobManagerCheckpointStorage())
    results = run_count(env, Count(tmp_path, Fault("kill the worker", RECORDS // 2)), rate=8_000)
    assert Counter(results) == EXPECTED
    assert len(pids(tmp_path)) == 4


def test_a_killed_worker_is_replaced_and_the_result_is_exact(spark: SparkSession, tmp_path: Path) -> None:
    results = run_count(checkpointed(spark), Count(tmp_path, Fault("kill the worker", RECORDS // 2)), rate=8_000)
    assert Counter(results) == EXPECTED
    killed = int((tmp_path / "fault").read_text().split()[0])
    assert killed in pids(tmp_path)[:2]
    assert killed not in pids(tmp_path)[2:]
    print(f"recovery after SIGKILL: {recovery_s(tmp_path):.3f} s")


def test_an_error_of_user_code_is_told_without_a_foreign_stack(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(JobFailedError) as raised:
        run_count(environment(spark), Count(tmp_path, Fault("exception", 7)))
    told = str(raised.value)
    for part in ("ValueError: no luck with 7", "'KEYED PROCESS'", "key: 7", "record: 7", "in strike"):
        assert part in told
    for foreign in ("py4j", "Py4J", "pyspark", "org.apache", "headgate/runtime"):
        assert foreign not in told


def wait_until(holds: Callable[[], bool], timeout_s: float = 120.0) -> None:
    due_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < due_s, "waited in vain"
        time.sleep(0.02)


def listening(pid: int) -> set[int]:
    """The ports that a process listens on."""
    if not psutil.pid_exists(pid):
        return set()
    connections = psutil.Process(pid).net_connections(kind="tcp")
    return {found.laddr.port for found in connections if found.status == psutil.CONN_LISTEN}


def submit_endless(spark: SparkSession, folder: Path, job_name: str = "endless") -> Any:
    env = environment(spark)
    numbers = env.from_source(DataGeneratorSource(lambda index: index, None, 1_000), None, "numbers")
    numbers.key_by(key_of).process(Count(folder)).filter(lambda _: False).print()
    job = env.submit(job_name)
    wait_until(lambda: len(pids(folder)) == 2)
    return job


def test_a_cancelled_job_leaves_no_port_thread_or_file(spark: SparkSession, tmp_path: Path) -> None:
    ports, threads = listening(os.getpid()), set(threading.enumerate())
    files = set(Path(tempfile.gettempdir()).glob("headgate-*"))
    job = submit_endless(spark, tmp_path)
    assert all(listening(pid) for pid in [os.getpid(), *pids(tmp_path)])
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"
    assert listening(os.getpid()) == ports
    assert [pid for pid in pids(tmp_path) if listening(pid)] == []
    assert set(Path(tempfile.gettempdir()).glob("headgate-*")) == files
    wait_until(lambda: set(threading.enumerate()) <= threads)
    assert spark.sparkContext.statusTracker().getActiveStageIds() == []


def test_a_job_shows_in_sparks_ui_and_its_secret_shows_nowhere(
    spark: SparkSession, spark_folder: Path, tmp_path: Path
) -> None:
    job = submit_endless(spark, tmp_path, "find me")
    secret = job._host._secret.reveal()
    context = spark.sparkContext
    api = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
    seen = {path: urllib.request.urlopen(f"{api}/{path}").read() for path in ("jobs", "stages", "environment", "sql")}
    seen["conf"] = repr(context.getConf().getAll()).encode()
    seen["processes"] = b"".join(read(path) for path in Path("/proc").glob("[0-9]*/cmdline"))
    seen["environments"] = b"".join(read(path) for path in Path("/proc").glob("[0-9]*/environ"))
    job.cancel()
    job.wait()
    events = Path(
        context.getConf().get("spark.eventLog.dir") or ""
    )  # a session that an earlier module made has its own
    for folder in {spark_folder, events}:
        seen |= {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert b"headgate: find me" in seen["jobs"]
    assert any(b"SparkListenerJobStart" in text for text in seen.values())
    encoded = base64.b64encode(secret).rstrip(b"=")
    forms = (secret, secret.hex().encode(), secret.hex().upper().encode(), encoded, repr(secret)[2:-1].encode())
    assert [where for where, text in seen.items() for form in forms if form in text] == []


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process has ended, or is another user's
        return b""


def test_too_few_free_slots_are_told_at_once(spark: SparkSession) -> None:
    env = environment(spark)
    env.set_parallelism(9)
    env.from_collection([1]).rebalance().map(lambda n: n).print()
    began_s = time.monotonic()
    with pytest.raises(EnvironmentFault, match=r"holds 9 task slots.*Spark has 4: .*local\[10\]"):
        env.execute()
    assert time.monotonic() - began_s < 5.0


def test_slots_that_another_job_holds_are_not_free(spark: SparkSession, tmp_path: Path) -> None:
    job = submit_endless(spark, tmp_path)
    env = environment(spark)
    env.set_parallelism(3)
    env.from_collection([1]).rebalance().map(lambda n: n).print()
    began_s = time.monotonic()
    with pytest.raises(EnvironmentFault, match="Spark has 4, of which 2 are busy"):
        env.execute()
    assert time.monotonic() - began_s < 5.0
    job.cancel()
    job.wait()


def test_speculation_is_refused(spark: SparkSession) -> None:
    env = environment(spark)
    env.from_collection([1]).print()
    spark.sparkContext._conf.set("spark.speculation", "true")
    try:
        with pytest.raises(EnvironmentFault, match=r"set spark\.speculation=false"):
            env.execute()
    finally:
        spark.sparkContext._conf.set("spark.speculation", "false")


def test_a_stage_that_is_cancelled_from_outside_ends_the_job_with_a_reason(spark: SparkSession, tmp_path: Path) -> None:
    job = submit_endless(spark, tmp_path)
    spark.sparkContext.cancelAllJobs()
    outcome = job.wait(120.0)
    assert outcome.status.word == "failed"
    assert "lost" in outcome.cause or "cancelled" in outcome.cause


def test_a_dataframe_goes_through_a_job_and_comes_back(spark: SparkSession) -> None:
    env = environment(spark)
    counted = Types.ROW_NAMED(["parity", "count"], [Types.LONG(), Types.LONG()])
    ones = env.from_spark(spark.range(1_000)).map(lambda row: Row(row.id % 2, 1), counted)
    frame = ones.key_by(lambda row: row[0]).sum(1).to_spark()
    assert sorted(map(tuple, frame.groupBy("parity").max("count").collect())) == [(0, 500), (1, 500)]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl command to make a certificate with")
def test_a_job_runs_over_tls(spark: SparkSession, tmp_path: Path) -> None:
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run([*command.split(), "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=300)
    tls = {"cert": cert, "key": key, "ca": cert}
    env = environment(spark, **{f"headgate.network.tls.{name}": str(path) for name, path in tls.items()})
    (tmp_path / "job").mkdir()
    assert Counter(run_count(env, Count(tmp_path / "job"))) == EXPECTED
    assert len(set(pids(tmp_path / "job"))) == 2


def tls_of_slot(_value: int) -> list[str]:
    """The versions of TLS that the connections of the slot have."""
    return sorted({each.version() or "" for each in gc.get_objects() if isinstance(each, ssl.SSLSocket)} - {""})


def test_a_job_that_other_machines_can_reach_runs_over_tls_without_any_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    reachable = {"headgate.network.bind-host": "0.0.0.0", "headgate.network.advertised-host": "127.0.0.1"}
    env = environment(spark, **reachable)
    assert list(env.from_collection([1]).map(tls_of_slot).execute_and_collect()) == [["TLSv1.3"]]
    assert Counter(run_count(environment(spark, **reachable), Count(tmp_path))) == EXPECTED
    assert len(set(pids(tmp_path))) == 2


def test_a_job_on_one_machine_runs_without_tls(spark: SparkSession) -> None:
    assert list(environment(spark).from_collection([1]).map(tls_of_slot).execute_and_collect()) == [[]]


def test_code_that_is_given_along_is_where_functions_look_for_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "rate.txt").write_text("3")
    base = Path(sys.executable).resolve()
    (tmp_path / "content" / "bin").mkdir()
    (tmp_path / "content" / "bin" / "python").symlink_to(base)
    (tmp_path / "content" / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    (tmp_path / "headgate_test_local.py").write_text("BASE = 10")
    env = environment(spark)
    env.add_python_file(str(tmp_path / "headgate_test_local.py"))
    env.add_python_archive(shutil.make_archive(str(tmp_path / "rates"), "gztar", tmp_path / "content"), "rates")
    env.set_python_executable("rates/bin/python")

    def rated(number: int) -> tuple[int, str]:
        from headgate_test_local import BASE  # type: ignore[import-not-found]  # noqa: PLC0415  # there in slots

        return BASE * number * int(Path("rates/rate.txt").read_text()), sys.prefix

    ((rate, prefix),) = env.from_collection([2]).map(rated).execute_and_collect()
    assert (rate, prefix != sys.prefix) == (60, True)
    env.set_python_executable("no-such-python")
    with pytest.raises(ConfigError, match="there is no program no-such-python on this machine"):
        env.from_collection([1]).map(str).execute_and_collect()
