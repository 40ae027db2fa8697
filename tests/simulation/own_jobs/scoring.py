"""Calls for batches in simulated jobs, on the asyncio loop or on a thread."""

from __future__ import annotations

import asyncio
import zlib
from functools import partial
from typing import Any, Final, final

from headgate.functions.asynchronous import AsyncRetryStrategy, RetryAfter
from headgate.operators.batch_calls import BatchCallFactory
from headgate.operators.slot_function import BatchCalls
from headgate.testing.sim.external import system
from tests.simulation.own_jobs.user_code import Record

_RETRIES: Final = AsyncRetryStrategy.fixed_delay(2, 3, None, lambda error: isinstance(error, RetryAfter))


class ScoresOnThread:
    """Gives back the records of each batch."""

    def __init__(self, name: str, outside: int) -> None:
        self._name = name
        self._outside = outside
        system(outside).pass_through(f"open of {name}")

    def __call__(self, records: list[Record]) -> list[Record]:
        for _ in records:
            system(self._outside).pass_through(self._name)
        return records


@final
class ScoresLater(ScoresOnThread):
    """Does so after a while; some batches are refused at first."""

    def __init__(self, name: str, outside: int) -> None:
        super().__init__(name, outside)
        self._refused: set[Any] = set()

    async def __call__(self, records: list[Record]) -> list[Record]:  # type: ignore[override]
        fate = zlib.crc32(repr(records[0][0]).encode())
        await asyncio.sleep(fate % 23 / 1000)
        if fate % 4 == 0 and fate not in self._refused:
            self._refused.add(fate)
            raise RetryAfter(fate % 7 / 1000)
        return super().__call__(records)


def scoring(name: str, outside: int, *, keyed: bool) -> BatchCallFactory:
    """Return what calls for batches of 4 records, which wait for 9 ms at most. By key, on a thread."""
    calls = BatchCalls(
        func=partial(ScoresOnThread if keyed else ScoresLater, name, outside),
        schema=None,
        batch_size=4,
        max_wait_s=0.009,
        concurrency=2,
        timeout_s=60.0,
        async_retry_strategy=_RETRIES,
        calls_per_second=200.0,
    )
    return BatchCallFactory(calls, keyed)
