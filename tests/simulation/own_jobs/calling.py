"""Asynchronous calls of simulated jobs, and a check that no watermark is ahead of a result."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterable
from typing import Any, final

from headgate.datastream.async_retry_predicates import exception_type_predicate
from headgate.functions.api import ProcessFunction
from headgate.functions.asynchronous import AsyncFunction, AsyncFunctionDescriptor, AsyncRetryStrategy
from headgate.functions.context import RuntimeContext
from headgate.operators.async_calls import AsyncFactory
from headgate.testing.sim.external import system
from headgate.types.instant import Time
from tests.simulation.own_jobs.user_code import Origin, Record


@final
class Calls(AsyncFunction):
    """Gives back each record, whose first element may be anything that has an origin, after a while.

    Some records are refused at first, and some take so long that they expire, which makes no difference to them.
    """

    def __init__(self, name: str, outside: int) -> None:
        self._name = name
        self._outside = outside

    def open(self, runtime_context: RuntimeContext) -> None:
        system(self._outside).pass_through(f"open of {self._name}")
        self._refused: set[Any] = set()

    async def async_invoke(self, value: Any) -> Iterable[Any]:
        fate = zlib.crc32(repr(value[0]).encode())
        await asyncio.sleep(fate % 19 / 1000 if fate % 31 else 1.0)
        system(self._outside).pass_through(self._name)
        if fate % 5 == 0 and value[0] not in self._refused:
            self._refused.add(value[0])
            raise OSError("busy: call again")
        return [value]

    def timeout(self, value: Any) -> Iterable[Any]:
        return [value]


def calling(name: str, outside: int, *, keyed: bool) -> AsyncFactory:
    """Return what calls for each record, 3 at a time. By key, results leave in the order of the records."""
    retries = AsyncRetryStrategy.exponential_backoff(3, 4, 9, 1.5, None, _is_refusal)
    mode = AsyncFunctionDescriptor.OutputMode.ORDERED if keyed else AsyncFunctionDescriptor.OutputMode.UNORDERED
    return AsyncFactory(AsyncFunctionDescriptor(Calls(name, outside), Time.milliseconds(60), 3, retries, mode), keyed)


def _is_refusal(error: Exception) -> bool:
    return exception_type_predicate(error, OSError)


Noted = tuple[tuple[Origin, int], Record]
"""A record, and before it its origin and the watermark that it came behind."""


@final
class NoteWatermark(ProcessFunction):
    """Notes at each record the watermark that it came behind."""

    def process_element(self, value: Record, ctx: ProcessFunction.Context) -> Iterable[Noted]:
        yield (value[0], ctx.timer_service().current_watermark()), value


@final
class CheckWatermark(ProcessFunction):
    """Fails for a record that another watermark has passed meanwhile."""

    def process_element(self, value: Noted, ctx: ProcessFunction.Context) -> Iterable[Record]:
        (_, before_ms), record = value
        if ctx.timer_service().current_watermark() > before_ms:
            raise AssertionError(f"watermark {ctx.timer_service().current_watermark()} is ahead of {record}")
        yield record
