"""Orders with their customers, who are in PostgreSQL: many queries at a time, made again when the database fails.

    python examples/services/customers_in_postgres.py <URL of the database>

It needs the extra `postgres`, and this table:

    CREATE TABLE customers (id bigint PRIMARY KEY, name text, country text);
    INSERT INTO customers SELECT id, 'customer ' || id, 'country ' || id % 7 FROM generate_series(0, 99) AS id;

Whatever fails, the database or a worker of Spark: each order is printed once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from headgate.common import Time
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    RuntimeContext,
    StreamExecutionEnvironment,
)

Order = tuple[int, int]

CONNECTIONS_MAX = 5
"""How many connections a subtask has. The server has a limit for all of them: `max_connections`."""
CALLS_MAX = 50
"""How many calls of a subtask are under way at a time; those beyond the connections wait for one."""
CONNECT_S_MAX = 5
QUERY_MS_MAX = 1_000
"""The server ends a query after this time. The client alone cannot."""


class Connections:
    """A pool: connections are made when they are needed, and closed when a query fails."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.places = asyncio.Semaphore(CONNECTIONS_MAX)
        self.idle: list[psycopg.AsyncConnection[Any]] = []

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with self.places:
            connection = self.idle.pop() if self.idle else await self.connect()
            try:
                yield connection
            except BaseException:  # also when the call is cancelled
                await connection.close()
                raise
            self.idle.append(connection)

    async def connect(self) -> psycopg.AsyncConnection[Any]:
        limit = f"-c statement_timeout={QUERY_MS_MAX}"
        return await psycopg.AsyncConnection.connect(
            self.url, autocommit=True, connect_timeout=CONNECT_S_MAX, options=limit
        )

    async def close(self) -> None:
        while self.idle:
            await self.idle.pop().close()


class Customer(AsyncFunction):
    """Adds to each order the name and the country of the customer; None twice for one who is not there."""

    def __init__(self, url: str) -> None:
        self.url = url

    def open(self, runtime_context: RuntimeContext) -> None:
        self.connections = Connections(self.url)

    async def async_invoke(self, value: Order) -> list[Any]:
        number, customer = value
        async with self.connections.connection() as connection:
            query = await connection.execute("SELECT name, country FROM customers WHERE id = %s", [customer])
            name, country = await query.fetchone() or (None, None)
        return [(number, name, country)]

    def close(self) -> None:
        self.closing = asyncio.get_running_loop().create_task(self.connections.close())


def may_pass(error: Exception) -> bool:
    """Whether the next query may succeed: no connection, one that broke, a query that took too long."""
    return isinstance(error, psycopg.OperationalError)


def order(number: int) -> Order:
    return number, number * 7 % 101


def main(url: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2).enable_checkpointing(100)
    orders = env.from_source(DataGeneratorSource(order, count=600, records_per_second=300), None, "orders")
    again = AsyncRetryStrategy.exponential_backoff(20, 50, 1_000, 2.0, None, may_pass)
    known = AsyncDataStream.unordered_wait_with_retry(orders, Customer(url), Time.minutes(1), again, CALLS_MAX)
    with known.execute_and_collect("customers in PostgreSQL") as results:
        for number, name, country in results:
            print(number, name, country, sep=", ", flush=True)


if __name__ == "__main__":
    urls = [argument for argument in sys.argv[1:] if not argument.startswith("-D")]
    if len(urls) != 1:
        sys.exit("usage: customers_in_postgres.py <URL of the database>")
    main(*urls)
