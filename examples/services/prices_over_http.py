"""Orders with their prices, which a service tells over HTTP: many calls at a time, made again when the service fails.

    python examples/services/prices_over_http.py <URL of the service>

The service answers `GET <URL>/<item>` with a number. Here is one:

    mkdir prices; echo 20 > prices/book; echo 35 > prices/lamp; echo 90 > prices/desk
    python -m http.server 8000 --bind 127.0.0.1 --directory prices

Whatever fails, the service or a worker of Spark: each order is printed once.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import httpx

from headgate.common import Time
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.async_retry_strategies import RetryAfter

Order = tuple[int, str, int]

ITEMS = ("book", "lamp", "desk", "boat")
CALLS_MAX = 50
"""How many calls of a subtask are under way at a time, and how many connections it has for them."""
CALL_S_MAX = 1.0
"""How long a call may wait: for a connection, and then for each piece of the answer."""
REFUSED = (429, 503)
"""The service has no room for a call now, and may say when it will."""
BROKEN = (500, 502, 504)


class Price(AsyncFunction):
    """Adds to each order what it costs; None for what the service does not know."""

    def __init__(self, url: str) -> None:
        self.url = url

    def open(self, runtime_context: RuntimeContext) -> None:
        connections = httpx.Limits(max_connections=CALLS_MAX, max_keepalive_connections=CALLS_MAX)
        self.client = httpx.AsyncClient(base_url=self.url, timeout=CALL_S_MAX, limits=connections)

    async def async_invoke(self, value: Order) -> list[Any]:
        number, item, pieces = value
        answer = await self.client.get(f"/{item}")
        if answer.status_code == 404:
            return [(number, item, None)]
        if answer.status_code in REFUSED:
            raise RetryAfter(seconds(answer.headers.get("Retry-After", "")))
        answer.raise_for_status()
        return [(number, item, pieces * answer.json())]

    def close(self) -> None:
        self.closing = asyncio.get_running_loop().create_task(self.client.aclose())


def seconds(retry_after: str) -> float:
    """Return how long the service wants to be left alone; it may give a date, too, which is left to the strategy."""
    return float(retry_after) if retry_after.isdigit() else 0.0


def may_pass(error: Exception) -> bool:
    """Whether the next call may succeed: no connection, no answer in time, a refusal, a broken service."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in BROKEN
    return isinstance(error, RetryAfter | httpx.TransportError)


def order(number: int) -> Order:
    return number, ITEMS[number % len(ITEMS)], 1 + number % 3


def main(url: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2).enable_checkpointing(100)
    orders = env.from_source(DataGeneratorSource(order, count=600, records_per_second=300), None, "orders")
    again = AsyncRetryStrategy.exponential_backoff(20, 50, 1_000, 2.0, None, may_pass)
    priced = AsyncDataStream.unordered_wait_with_retry(orders, Price(url), Time.minutes(1), again, CALLS_MAX)
    with priced.execute_and_collect("prices over HTTP") as results:
        for result in results:
            print(*result, flush=True)


if __name__ == "__main__":
    urls = [argument for argument in sys.argv[1:] if not argument.startswith("-D")]
    if len(urls) != 1:
        sys.exit("usage: prices_over_http.py <URL of the service>")
    main(*urls)
