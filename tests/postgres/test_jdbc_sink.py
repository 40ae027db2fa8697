"""PyFlink's JdbcSink on a server: rows are sent in batches, before checkpoints and at the end, and again when lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headgate.common import Row, Types
from headgate.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from headgate.testing.servers.postgres import PostgresServer
from tests.postgres.databases import TestDatabase
from tests.scenarios.runs import Runs, wait_until
from tests.unit.datastream.environments import environment

pytestmark = pytest.mark.slow

UPSERT = "INSERT INTO totals VALUES (?, ?) ON CONFLICT (customer) DO UPDATE SET amount = EXCLUDED.amount"
FAULTS: set[int] = set()
ROW = Types.ROW([Types.STRING(), Types.INT()])


@pytest.fixture
def totals(database: TestDatabase) -> TestDatabase:
    database.execute("CREATE TABLE totals (customer text PRIMARY KEY, amount int)")
    return database


def amount(number: int) -> Row:
    if number in FAULTS:
        FAULTS.remove(number)
        raise ValueError("planned")
    return Row(f"customer {number % 10}", number)


def sink(totals: TestDatabase, **options: int) -> JdbcSink:
    server = totals.server
    connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    connection.with_url(f"jdbc:postgresql://127.0.0.1:{server.port}/{totals.name}").with_user_name("headgate")
    execution = JdbcExecutionOptions.builder()
    for name, value in options.items():
        getattr(execution, f"with_{name}")(value)
    return JdbcSink.sink(UPSERT, ROW, connection.with_password(server.password).build(), execution.build())


def seen(totals: TestDatabase) -> list[Any]:
    return totals.execute("SELECT * FROM totals ORDER BY customer")


def test_rows_are_there_at_the_end_of_a_job_without_checkpoints(totals: TestDatabase) -> None:
    env = environment()
    env.from_collection([Row("ann", 5), Row("bob", 7), Row("ann", 8)]).set_parallelism(1).add_sink(sink(totals))
    env.execute()
    assert seen(totals) == [("ann", 8), ("bob", 7)]


def test_rows_that_cannot_be_sent_at_the_end_are_sent_when_the_job_has_started_again(totals: TestDatabase) -> None:
    totals.execute("ALTER TABLE totals RENAME TO hidden")
    fixed = "restart-strategy__fixed-delay"
    restarts = {f"{fixed}__attempts": "1000", f"{fixed}__delay": "10 ms"}
    env = environment(**{"restart-strategy__type": "fixed-delay", **restarts})
    env.from_collection([Row("ann", 5)]).set_parallelism(1).add_sink(sink(totals))
    job: Any = env.submit()
    wait_until(lambda: job.progress.restarts > 0, job)
    totals.execute("ALTER TABLE hidden RENAME TO totals")
    assert job.wait(120.0).status.word == "finished"
    assert seen(totals) == [("ann", 5)]


def test_rows_of_a_job_that_fails_are_there_again(
    totals: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FAULTS.add(700)
    env = Runs(tmp_path, monkeypatch).environment(1)
    env.from_collection(list(range(1000))).map(amount).add_sink(sink(totals, batch_size=50))
    env.execute()
    assert set() == FAULTS
    assert seen(totals) == [(f"customer {number}", 990 + number) for number in range(10)]


def test_rows_are_sent_when_the_batch_is_full_and_when_the_oldest_is_due(totals: TestDatabase) -> None:
    for options in ({"batch_size": 2}, {"batch_interval_ms": 1}):
        function = sink(totals, **options)
        function.open(None)  # type: ignore[arg-type]
        number = 0
        while len(seen(totals)) < 2:
            function.invoke(Row(f"customer {number}", number), None)  # type: ignore[arg-type]
            number += 1
        function.close()
        totals.execute("DELETE FROM totals")


def test_rows_are_sent_again_over_a_new_connection(totals: TestDatabase, postgres_server: PostgresServer) -> None:
    function = sink(totals, batch_size=1)
    function.open(None)  # type: ignore[arg-type]
    postgres_server.restart()
    function.invoke(Row("ann", 5), None)  # type: ignore[arg-type]
    function.close()
    assert seen(totals) == [("ann", 5)]


def test_a_connection_that_was_closed_while_it_was_idle_is_no_failed_try(totals: TestDatabase) -> None:
    function = sink(totals, batch_size=1, max_retries=0)
    function.open(None)  # type: ignore[arg-type]
    function.invoke(Row("ann", 5), None)  # type: ignore[arg-type]
    totals.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name LIKE '%Jdbc%'")
    function.invoke(Row("bob", 7), None)  # type: ignore[arg-type]
    function.close()
    assert seen(totals) == [("ann", 5), ("bob", 7)]
