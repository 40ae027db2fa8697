"""Jobs that append to a Delta table: each record is there once, whatever fails, however often the job starts again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from headgate.common import Configuration, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.delta import DeltaSink
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from tests.delta.tables import SCHEMA, rows_of, versions_of
from tests.scenarios.paced import HURRY, Paced
from tests.scenarios.runs import Runs, wait_until
from tests.scenarios.worded import BURST, COUNT, EXPECTED, FAULTS, Worded, nothing_planned  # noqa: F401  # a fixture

pytestmark = pytest.mark.slow


def environment(folder: Path, **settings: str) -> StreamExecutionEnvironment:
    configuration = {
        "headgate.deploy.target": "minicluster",
        "execution.checkpointing.dir": str(folder / "checkpoints"),
        "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "20",
        "restart-strategy.fixed-delay.delay": "0 ms",
        **settings,
    }
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(configuration))


def to_table(numbers: DataStream, table: Path) -> None:
    numbers.rebalance().map(Worded()).uid("worded").sink_to(DeltaSink(table, SCHEMA)).uid("sink")


def paced(env: StreamExecutionEnvironment, table: Path, burst: int = BURST) -> StreamExecutionEnvironment:
    to_table(env.from_source(Paced(COUNT, burst), None, "numbers").uid("numbers"), table)
    return env


def test_a_job_that_fails_often_has_each_record_in_the_table_once(tmp_path: Path) -> None:
    FAULTS[:] = [60, 110, 111, 200, 280]
    env = environment(tmp_path, **{"execution.checkpointing.interval": "20 ms"}).set_parallelism(2)
    table = tmp_path / "table"
    paced(env, table).execute()
    assert FAULTS == []
    assert rows_of(table) == EXPECTED
    assert versions_of(table) > 5


def test_without_checkpoints_all_records_are_one_commit_at_the_end(tmp_path: Path) -> None:
    env = environment(tmp_path).set_parallelism(2)
    to_table(env.from_source(DataGeneratorSource(lambda index: index, COUNT), None, "numbers"), tmp_path / "table")
    env.execute()
    assert rows_of(tmp_path / "table") == EXPECTED
    assert versions_of(tmp_path / "table") == 1


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1)])
def test_a_job_goes_on_at_another_parallelism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    runs, table = Runs(tmp_path / "checkpoints", monkeypatch), tmp_path / "table"
    runs.stop(paced(runs.environment(before), table))
    stopped_at = len(rows_of(table))
    HURRY.set()
    runs.finish(paced(runs.environment(after), table))
    assert 0 < stopped_at < COUNT
    assert rows_of(table) == EXPECTED


def savepoint_of(job: Any) -> str:
    wait_until(lambda: sum(job.progress.records_in.values()) >= BURST, job)
    return str(job.trigger_savepoint(None, SavepointFormat.CANONICAL).result(120.0))


def cancel(job: Any) -> None:
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"


def resume(folder: Path, location: str, table: Path) -> None:
    HURRY.set()
    env = environment(folder, **{"execution.state-recovery.path": location}).set_parallelism(2)
    outcome: Any = paced(env, table, COUNT).submit().wait(120.0)
    assert (outcome.status.word, outcome.cause) == ("finished", None)


@pytest.mark.parametrize("goes_back", [False, True])
def test_another_job_commits_what_a_savepoint_holds(tmp_path: Path, goes_back: bool) -> None:
    table = tmp_path / "table"
    job: Any = paced(environment(tmp_path, **{"execution.checkpointing.interval": "1 h"}), table).submit()
    location = savepoint_of(job)
    if goes_back:
        FAULTS.append(BURST)
        wait_until(lambda: job.progress.restarts and sum(job.progress.records_in.values()) >= BURST, job)
    cancel(job)
    assert rows_of(table) == []
    resume(tmp_path, location, table)
    assert rows_of(table) == EXPECTED


def test_a_table_that_no_longer_takes_the_output_ends_the_job_and_its_checkpoint_has_it(tmp_path: Path) -> None:
    table = tmp_path / "table"
    env = environment(tmp_path, **{"execution.checkpointing.interval": "20 ms"})
    job: Any = paced(env, table).submit()
    wait_until(lambda: DeltaTable.is_deltatable(str(table)) and versions_of(table) > 1, job)
    DeltaTable(table).alter.add_constraint({"small": "number < 1000"})
    outcome = job.wait(120.0)
    assert outcome.status.word == "failed"
    assert "has changed, and does not fit what a complete checkpoint holds" in outcome.cause
    DeltaTable(table).alter.drop_constraint("small")
    latest = max((tmp_path / "checkpoints").glob("*/chk-*"), key=lambda path: int(path.name.removeprefix("chk-")))
    resume(tmp_path, str(latest), table)
    assert rows_of(table) == EXPECTED


PROGRAM = f"""
import pyarrow as pa
from headgate.common import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.delta import DeltaSink
from headgate.datastream import StreamExecutionEnvironment

conf = Configuration.from_dict({{
    "headgate.deploy.target": "minicluster",
    "headgate.job.id": "0123456789abcdef0123456789abcdef",
    "execution.checkpointing.dir": "checkpoints",
    "execution.checkpointing.interval": "30 ms",
}})
env = StreamExecutionEnvironment.get_execution_environment(conf).set_parallelism(2)
numbers = env.from_source(DataGeneratorSource(lambda index: index, {COUNT}, 200.0), None, "numbers")
worded = numbers.map(lambda number: (number, f"word-{{number % 7}}"))
schema = pa.schema([("number", pa.int64()), ("word", pa.string())])
worded.sink_to(DeltaSink("table", schema))
env.execute()
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "output").open("ab") as output:
        return subprocess.Popen([sys.executable, "job.py"], cwd=folder, stdout=output, stderr=output)


@pytest.mark.soak
def test_a_process_that_is_killed_again_and_again_has_each_record_in_the_table_once(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    table, kills, seen = tmp_path / "table", 0, 0
    while (code := run_until_more_is_seen(tmp_path, seen)) is None:
        kills, seen = kills + 1, len(rows_of(table))
    assert code == 0, (tmp_path / "output").read_text()
    assert kills > 1
    assert rows_of(table) == EXPECTED


def run_until_more_is_seen(folder: Path, seen: int) -> int | None:
    """Run the program, kill it when its table has some more rows than it had; return its exit code if it came first."""
    program, table, due_s = start(folder), folder / "table", time.monotonic() + 120.0
    try:
        while program.poll() is None:
            assert time.monotonic() < due_s, (folder / "output").read_text()
            if DeltaTable.is_deltatable(str(table)) and len(rows_of(table)) > seen + 40:
                os.kill(program.pid, signal.SIGKILL)
                program.wait(120.0)
                return None
        return program.returncode
    finally:
        program.kill()
        program.wait(120.0)


def test_row_types_are_columns(tmp_path: Path) -> None:
    env = environment(tmp_path)
    types = Types.ROW_NAMED(["number", "word"], [Types.LONG(), Types.STRING()])
    numbers = env.from_source(DataGeneratorSource(lambda index: index, 3), None, "numbers").map(Worded())
    numbers.sink_to(DeltaSink(tmp_path / "table", types))
    env.execute()
    assert rows_of(tmp_path / "table") == EXPECTED[:3]
