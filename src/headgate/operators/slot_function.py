"""The function of `map_batches` in one slot: the slot loads it once for all subtasks, and limits its calls.

The function takes and returns lists of records or Arrow batches.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

from headgate.errors import ProgramError
from headgate.functions.asynchronous import AsyncRetryStrategy, class_of, is_coroutine_function, retry_after_s
from headgate.operators.base import USER_ERRORS, UserCodeError
from headgate.operators.service_calls import TokenBucket, retried
from headgate.operators.services import Services
from headgate.types.record_copies import Passing

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCalls:
    """A function of batches and the settings of `map_batches`. `schema` None means that batches are lists."""

    func: Callable[..., Any]
    schema: pa.Schema | None
    batch_size: int
    max_wait_s: float
    concurrency: int
    timeout_s: float | None
    async_retry_strategy: AsyncRetryStrategy
    calls_per_second: float | None


def batch_of(records: list[Any], schema: pa.Schema | None) -> Any:
    """Return records as a new list, or as an Arrow batch. Raises SerializationError for a record of another type."""
    if schema is None:
        return [*records]
    from headgate.types.arrow import batch_from_rows  # noqa: PLC0415  # Arrow takes long to load

    return batch_from_rows(records, schema)


def results_of(given: Any, count: int, schema: pa.Schema | None) -> list[Any]:
    """Return the result of a function for a batch of `count` records as a list of `count` results.

    Raises ProgramError for a result of another type or length, SerializationError for values without a Python type.
    """
    results = _listed(given) if schema is None else _rows(given)
    if results is None:
        expected = "a list" if schema is None else "a pyarrow.RecordBatch or a pyarrow.Array"
        raise ProgramError(
            f"a function of map_batches() returned {given!r:.100}, of type {type(given).__name__}, but must return "
            f"{expected} with a result for each record"
        )
    if len(results) != count:
        raise ProgramError(
            f"a function of map_batches() returned {len(results)} results for a batch of {count} records, but must "
            "return one for each, in the same order"
        )
    return results


def _listed(given: Any) -> list[Any] | None:
    if hasattr(given, "tolist"):  # an array: its elements become Python objects
        given = given.tolist()
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | dict) else None


def _rows(given: Any) -> list[Any] | None:
    import pyarrow as pa  # noqa: PLC0415  # Arrow takes long to load

    from headgate.types.arrow import rows_from_batch  # noqa: PLC0415
    from headgate.types.arrow_values import values_of  # noqa: PLC0415

    if isinstance(given, pa.Array):
        return values_of(given)
    rows: list[Any] | None = [*rows_from_batch(given)] if isinstance(given, pa.RecordBatch) else None
    return rows


@final
class SlotFunction:
    """Calls the function for batches, within the limits of concurrency and rate. Owned by the slot's loop.

    A coroutine function runs on the asyncio loop, any other function on a thread. A thread continues a cancelled call
    to its end, so the function is closed when the last call has returned.
    """

    def __init__(self, calls: BatchCalls, services: Services, passing: Passing) -> None:
        """Create the instance, if the function is a class. Raises `UserCodeError`.

        Each call gets copies of the records: the operators keep the records for snapshots and retries.
        """
        self._calls = calls
        self._each_copied = passing.each_copied
        self._services = services
        self._loop = services.event_loop()
        self._function = self._made()
        self._call = self._awaited if is_coroutine_function(self._function) else self._on_thread
        self._retried = retried(self._once, calls.async_retry_strategy)
        self._places = asyncio.Semaphore(calls.concurrency)
        self._threads = asyncio.Semaphore(calls.concurrency)
        """Limits threads, besides calls: a cancelled call frees its place at once, its thread when it returns."""
        self._bucket = TokenBucket(calls.calls_per_second)
        self._next = asyncio.Lock()
        self._users = 0
        self._on_threads = 0
        self._is_released = False
        self._leaving = threading.Lock()

    def _made(self) -> Callable[[Any], Any]:
        func = self._calls.func
        if class_of(func) is None:
            return func
        try:
            made: Callable[[Any], Any] = self._loop.call(func)
        except USER_ERRORS as error:
            raise UserCodeError(during="__init__()") from error
        return made

    async def call(self, records: list[Any]) -> list[Any]:
        """Return a result for each record, in order. Raises the error of the last try, or TimeoutError."""
        async with self._places:
            timeout = asyncio.timeout(None)
            try:
                async with timeout:
                    results: list[Any] = await self._retried((records, timeout))
                    return results
            except TimeoutError as error:
                if not timeout.expired():
                    raise
                late = f"the call for {len(records)} records has not ended within {self._calls.timeout_s} s"
                raise TimeoutError(late) from error

    async def _once(self, batch: tuple[list[Any], asyncio.Timeout]) -> list[Any]:
        """Make one call as soon as the rate allows. The timeout of the batch starts with the first call."""
        records, timeout = batch
        async with self._next:
            while (wait_s := self._bucket.take(self._loop.time())) > 0.0:
                await asyncio.sleep(wait_s)
        if timeout.when() is None and self._calls.timeout_s is not None:
            timeout.reschedule(self._loop.time() + self._calls.timeout_s)
        try:
            return await self._call(self._each_copied(records))
        except Exception as error:
            self._bucket.pause(self._loop.time() + retry_after_s(error))
            raise

    async def _awaited(self, records: list[Any]) -> list[Any]:
        schema = self._calls.schema
        return results_of(await self._function(batch_of(records, schema)), len(records), schema)

    async def _on_thread(self, records: list[Any]) -> list[Any]:
        await self._threads.acquire()
        future: asyncio.Future[list[Any] | BaseException] = self._loop.create_future()

        def done(result: list[Any] | BaseException) -> None:
            self._threads.release()
            if not future.done():
                future.set_result(result)

        with self._leaving:
            self._on_threads += 1
        self._services.submit_waiting(partial(self._blocking, records), done)
        result = await future
        if isinstance(result, BaseException):
            raise result
        return result

    # --- on a thread

    def _blocking(self, records: list[Any]) -> list[Any]:
        schema = self._calls.schema
        try:
            return results_of(self._function(batch_of(records, schema)), len(records), schema)
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._leaving:
            self._on_threads -= 1
            is_last = self._is_released and not self._on_threads
        if is_last:
            with suppress(Exception):  # no operator is left to report it
                self._close()

    # --- its users

    def take(self) -> None:
        """Add a subtask to the users of the function."""
        self._users += 1

    def release(self) -> None:
        """Remove a subtask from the users; the last one closes the function. Raises `UserCodeError`."""
        self._users -= 1
        if self._users:
            return
        with self._leaving:
            self._is_released = True
            is_in_use = self._on_threads > 0
        if not is_in_use:
            try:
                self._loop.call_and_wait(self._close_on_loop)
            except USER_ERRORS as error:
                raise UserCodeError(during="close()") from error

    def _close_on_loop(self) -> None:
        closing = self._close()
        if asyncio.iscoroutine(closing):
            self._loop.create_task(closing)

    def _close(self) -> Any:
        close = getattr(self._function, "close", None)
        return close() if class_of(self._calls.func) is not None and callable(close) else None
