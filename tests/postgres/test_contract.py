"""The contract of sinks, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.connectors.postgres import PostgresSink, PostgresTable, PreparedPostgresSink
from headgate.testing.contracts.sink import JOB, SINK_CHECKS, SinkCase, SinkTarget
from tests.postgres.databases import TestDatabase

RECORDS = [(f"word-{index}", index) for index in range(16)]
READ = "SELECT word, number FROM words ORDER BY number"


def staged_inserts(database: TestDatabase) -> SinkTarget:
    database.reset()
    database.execute("CREATE TABLE words (word text NOT NULL, number bigint)")
    sink = PostgresSink(PostgresTable(database.url, "words", ["word", "number"]))
    sink.prepare(JOB)
    return SinkTarget(sink=sink, read=lambda: database.execute(READ))


def staged_upserts(database: TestDatabase) -> SinkTarget:
    database.reset()
    database.execute("CREATE TABLE words (id serial, word text PRIMARY KEY, number bigint NOT NULL)")
    sink = PostgresSink(PostgresTable(database.url, "public.words", ["number", "word"], key=["word"], row=turned))
    sink.prepare(JOB)
    return SinkTarget(sink=sink, read=lambda: database.execute(READ))


def turned(record: tuple[str, int]) -> tuple[int, str]:
    return record[1], record[0]


def prepared(database: TestDatabase) -> SinkTarget:
    database.reset()
    database.execute("CREATE TABLE words (id serial, word text UNIQUE, number bigint DEFAULT 7)")
    sink = PreparedPostgresSink(PostgresTable(database.url, "words", ["word", "number"]))
    sink.prepare(JOB)
    return SinkTarget(sink=sink, read=lambda: database.execute(READ))


CASES = [staged_inserts, pytest.param(staged_upserts, marks=pytest.mark.soak), prepared]


@pytest.mark.slow
@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("target", CASES)
def test_sink(
    target: Callable[[TestDatabase], SinkTarget], check: Callable[[SinkCase], None], database: TestDatabase
) -> None:
    check(SinkCase(fresh=lambda: target(database), records=RECORDS, histories=10))
