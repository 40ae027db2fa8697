"""The examples that ask services: whatever the service does, and when a slot is killed, each record has one result."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headgate.testing.servers.postgres import PostgresServer
from tests.docs.blocks import ROOT, run_here
from tests.docs.faulty_services import FAULTY_CUSTOMERS, HTTP_FAULTS, PRICES, kill_process_at, running_price_server

OVER_HTTP = ROOT / "examples" / "services" / "prices_over_http.py"
IN_POSTGRES = ROOT / "examples" / "services" / "customers_in_postgres.py"
ORDERS = 600
PRICED = sorted(
    f"{number} {item} {None if price is None else pieces * price}"
    for number, item, pieces in map(runpy.run_path(str(OVER_HTTP))["order"], range(ORDERS))
    for price in [PRICES.get(item)]
)
KNOWN = sorted(
    f"{number}, None, None" if customer == 100 else f"{number}, customer {customer}, country {customer % 7}"
    for number, customer in ((number, number * 7 % 101) for number in range(ORDERS))
)
WAITING = """
    SELECT client_port FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND NOT granted
"""
Printed = pytest.CaptureFixture[str]


@pytest.fixture
def customers(postgres_server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a database of customers, which is slow and broken now and then."""
    name = f"customers_{time.time_ns()}"
    postgres_server.create_database(name)
    with postgres_server.connect(name) as connection:
        for statement in FAULTY_CUSTOMERS:
            connection.execute(statement.encode())
        yield connection


@pytest.mark.slow
def test_each_order_has_its_price_once_however_the_service_fails(
    monkeypatch: pytest.MonkeyPatch, capfd: Printed
) -> None:
    with running_price_server() as server:
        run_here(OVER_HTTP, monkeypatch, server.url)
    assert sorted(capfd.readouterr().out.splitlines()) == PRICED
    assert server.faults.keys() == set(HTTP_FAULTS.values())


@pytest.mark.slow
def test_each_order_has_its_customer_once_however_the_database_fails(
    customers: psycopg.Connection[Any], postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, capfd: Printed
) -> None:
    run_here(IN_POSTGRES, monkeypatch, postgres_server.url(customers.info.dbname))
    assert sorted(capfd.readouterr().out.splitlines()) == KNOWN
    ((queries,),) = customers.execute("SELECT last_value FROM queries")
    assert queries > ORDERS, "queries failed, and were made again"


@contextmanager
def on_spark(program: Path, url: str) -> Iterator[subprocess.Popen[str]]:
    """Run the program as a user does, on an embedded session."""
    command = [sys.executable, str(program), url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def printed_by(process: subprocess.Popen[str]) -> list[str]:
    """Return the lines that a program has printed when it has ended, sorted."""
    printed, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    return sorted(printed.splitlines())


@pytest.mark.soak
@pytest.mark.spark
def test_each_order_has_its_price_once_when_a_slot_is_killed_while_it_asks() -> None:
    killed: list[int] = []

    def kill(number: int, port: int) -> None:
        if number == ORDERS // 2:
            killed.append(kill_process_at(port))

    with running_price_server(kill) as server, on_spark(OVER_HTTP, server.url) as program:
        assert printed_by(program) == PRICED
    assert len({*killed, program.pid, os.getpid()}) == 3
    assert server.faults.keys() == set(HTTP_FAULTS.values())


@pytest.mark.soak
@pytest.mark.spark
def test_each_order_has_its_customer_once_when_a_slot_is_killed_and_the_database_restarted_while_it_asks(
    customers: psycopg.Connection[Any], postgres_server: PostgresServer
) -> None:
    customers.execute("SELECT pg_advisory_lock(1)")
    with on_spark(IN_POSTGRES, postgres_server.url(customers.info.dbname)) as program:
        while not (waiting := customers.execute(WAITING).fetchall()):
            assert program.poll() is None, program.communicate()
            time.sleep(0.05)
        killed = kill_process_at(waiting[0][0])
        postgres_server.restart()
        assert printed_by(program) == KNOWN
    assert len({killed, program.pid, os.getpid()}) == 3
