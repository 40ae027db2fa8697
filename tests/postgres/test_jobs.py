"""Whole jobs into PostgreSQL: whatever fails, and however often, the table ends as it should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Types
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.postgres import PostgresFlushingSink, PostgresSink, PostgresTable, PreparedPostgresSink
from headgate.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor
from headgate.elements import SavepointFormat
from headgate.functions.sink import Sink
from headgate.testing.servers.postgres import PostgresServer
from tests.postgres.databases import TestDatabase
from tests.scenarios.ledger import numbers
from tests.scenarios.paced import HURRY
from tests.scenarios.rescaled import Change, Rescaled, Way, changes, leave_commits_to_others
from tests.scenarios.runs import Runs, wait_until

pytestmark = pytest.mark.slow

COUNT: Final = 600
KEYS: Final = 7
FAULTS: set[int] = set()
"""Values at which the job fails, once each."""

TABLES: Final = (
    "CREATE TABLE counted (key text NOT NULL, count int NOT NULL)",
    "CREATE TABLE counts (key text PRIMARY KEY, count int NOT NULL)",
)
EXPECTED: Final = Counter((f"key {value % KEYS}", value // KEYS + 1) for value in range(COUNT))
Make = Callable[[PostgresTable], Sink[Any]]


class Counting(KeyedProcessFunction):
    """Yields `(key, count)`, and fails when that is planned."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value in FAULTS:
            FAULTS.remove(value)
            raise ValueError(f"planned fault at {value}")
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


@pytest.fixture
def tables(database: TestDatabase) -> TestDatabase:
    FAULTS.clear()
    database.execute(*TABLES)
    return database


def inserting(url: str) -> PostgresTable:
    return PostgresTable(url, "counted", ["key", "count"])


def upserting(url: str) -> PostgresTable:
    return PostgresTable(url, "counts", ["key", "count"], key=["key"])


def count_into(env: StreamExecutionEnvironment, sinks: list[Sink[Any]], burst: int) -> StreamExecutionEnvironment:
    into(sinks, numbers(env, COUNT, burst))
    return env


def into(sinks: list[Sink[Any]], values: DataStream) -> None:
    """Count values by key, and write the counts into each sink."""
    counts = values.key_by(lambda value: f"key {value % KEYS}").process(Counting()).uid("counting")
    for number, sink in enumerate(sinks):
        counts.sink_to(sink).uid(f"sink {number}")


def check(tables: TestDatabase) -> None:
    assert Counter(tables.execute("SELECT * FROM counted")) == EXPECTED
    latest = [(key, count) for key, count in EXPECTED if (key, count + 1) not in EXPECTED]
    assert sorted(tables.execute("SELECT * FROM counts")) == sorted(latest)
    assert (tables.staged(), tables.prepared()) == ([], [])


@pytest.mark.parametrize("make", [pytest.param(PostgresSink, marks=pytest.mark.soak), PreparedPostgresSink])
def test_a_job_that_fails_again_and_again_writes_each_row_once(
    make: Make, tables: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch)
    FAULTS.update({100, 101, 250, 400, 599})
    runs.finish(count_into(runs.environment(2), [make(inserting(tables.url)), PostgresSink(upserting(tables.url))], 50))
    assert set() == FAULTS
    check(tables)


def test_upserts_that_are_flushed_end_the_same_whatever_fails(
    tables: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch)
    FAULTS.update({100, 101, 250, 400, 599})
    sinks: list[Sink[Any]] = [PostgresSink(inserting(tables.url)), PostgresFlushingSink(upserting(tables.url))]
    runs.finish(count_into(runs.environment(2), sinks, 50))
    check(tables)


@pytest.mark.parametrize("make", [PostgresSink, pytest.param(PreparedPostgresSink, marks=pytest.mark.soak)])
def test_a_job_outlives_the_death_of_the_server(
    make: Make, tables: TestDatabase, postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = {"restart-strategy.fixed-delay.delay": "100 ms", "restart-strategy.fixed-delay.attempts": "1000"}
    runs = Runs(tmp_path, monkeypatch, **waiting)
    sinks = [make(inserting(tables.url)), PostgresSink(upserting(tables.url))]
    job: Any = count_into(runs.environment(2), sinks, 50).submit()
    for _ in range(2):
        reached = len(job.progress.checkpoints)
        wait_until(lambda reached=reached: len(job.progress.checkpoints) > reached + 3, job)  # type: ignore[misc]
        postgres_server.restart()
    HURRY.set()
    outcome = job.wait(120.0)
    assert outcome.status.word == "finished", outcome.cause
    assert job.progress.restarts
    check(tables)


@pytest.mark.parametrize("make", [pytest.param(PostgresSink, marks=pytest.mark.soak), PreparedPostgresSink])
def test_a_job_goes_on_at_another_parallelism(
    make: Make, tables: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch)
    sinks = [make(inserting(tables.url)), PostgresSink(upserting(tables.url))]
    for parallelism in (2, 3, 1):
        runs.stop(count_into(runs.environment(parallelism), sinks, 50))
    assert len(tables.execute("SELECT * FROM counted")) < COUNT
    runs.finish(count_into(runs.environment(4), sinks, COUNT))
    check(tables)


@pytest.mark.parametrize("make", [PostgresSink, PreparedPostgresSink], ids=lambda make: make.__name__)
def test_a_savepoint_keeps_the_rows_that_the_job_which_starts_from_it_commits(
    make: Make, tables: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = {
        "execution.checkpointing.interval": "1 h",
        "execution.checkpointing.savepoint-dir": str(tmp_path / "savepoints"),
        "execution.checkpointing.externalized-checkpoint-retention": "NO_EXTERNALIZED_CHECKPOINTS",
    }
    sinks = [make(inserting(tables.url)), PostgresSink(upserting(tables.url))]
    with pytest.MonkeyPatch.context() as first:
        runs = Runs(tmp_path, first, **never)
        job: Any = count_into(runs.environment(2), sinks, 50).submit()
        wait_until(lambda: sum(job.progress.records_in.values()) >= 50, job)
        location = str(job.trigger_savepoint(None, SavepointFormat.CANONICAL).result(120.0))
        job.cancel()
        assert job.wait(120.0).status.word == "cancelled"
    assert tables.execute("SELECT * FROM counted") == []
    assert tables.staged() != []
    env = runs.environment(3, **{"execution.state-recovery.path": location})
    HURRY.set()
    runs.finish(count_into(env, sinks, COUNT))
    check(tables)


@pytest.mark.parametrize("change", changes(Way.RUNNING, Way.CHECKPOINT, Way.SAVEPOINT))
def test_prepared_rows_are_committed_once_whatever_the_parallelism(
    change: Change, tables: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_commits_to_others(change, monkeypatch)
    tables.execute(TABLES[0].replace("counted", "prepared"))
    sinks: list[Sink[Any]] = [
        PostgresSink(inserting(tables.url)),
        PreparedPostgresSink(PostgresTable(tables.url, "prepared", ["key", "count"])),
        PostgresSink(upserting(tables.url)),
    ]

    def program(env: StreamExecutionEnvironment) -> None:
        source = env.from_source(NumberSequenceSource(0, COUNT - 1), None, "numbers").uid("numbers")
        into(sinks, source)

    Rescaled(tmp_path, program).run(change)
    assert Counter(tables.execute("SELECT * FROM prepared")) == EXPECTED
    check(tables)
