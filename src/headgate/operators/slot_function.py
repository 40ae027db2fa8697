"""The function of `map_batches` in one slot, shared by its subtasks: loaded once, its calls limited.

A function of batches is given, and returns, lists of records or Arrow batches.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

from headgate.errors import ProgramError
from headgate.functions.asynchronous import AsyncRetryStrategy, retry_after_s
from headgate.operators.base import USER_ERRORS, UserCodeError
from headgate.operators.service_calls import TokenBucket, retried
from headgate.operators.services import Services
from headgate.types.values import Passing

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCalls:
    """A function of batches and its settings. `schema` is the schema of Arrow batches; None: batches are lists."""

    func: Callable[..., Any]
    schema: pa.Schema | None
    batch_size: int
    max_wait_s: float
    concurrency: int
    timeout_s: float | None
    async_retry_strategy: AsyncRetryStrategy
    calls_per_second: float | None


def class_of(func: object) -> type | None:
    """Return the class whose instances are the function: `func` itself, or the class in a `partial`; None for others.

    >>> class_of(partial(int, base=2)), class_of(len)
    (<class 'int'>, None)
    """
    made = func.func if isinstance(func, partial) else func
    return made if isinstance(made, type) else None


def is_coroutine_function(func: object) -> bool:
    """Return whether a function, or a method `__call__` of a class or an instance, is declared with `async def`."""
    of_call = getattr(class_of(func) or func, "__call__", None)  # noqa: B004  # its declaration is looked at
    return inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(of_call)


def batch_of(records: list[Any], schema: pa.Schema | None) -> Any:
    """Return records as a list of their own, or as an Arrow batch. Raises SerializationError for a wrong one."""
    if schema is None:
        return [*records]
    from headgate.types.arrow import batch_from_rows  # noqa: PLC0415  # Arrow takes long to load

    return batch_from_rows(records, schema)


def results_of(given: Any, count: int, schema: pa.Schema | None) -> list[Any]:
    """Return what a function has returned for a batch of `count` records as a list of as many results.

    Raises ProgramError for anything else, SerializationError for what Python cannot hold.
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
    if hasattr(given, "tolist"):  # an array, whose elements become objects of Python
        given = given.tolist()
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | dict) else None


def _rows(given: Any) -> list[Any] | None:
    import pyarrow as pa  # noqa: PLC0415  # it takes long to load

    from headgate.types.arrow import rows_from_batch  # noqa: PLC0415
    from headgate.types.arrow_values import values_of  # noqa: PLC0415

    if isinstance(given, pa.Array):
        return values_of(given)
    rows: list[Any] | None = [*rows_from_batch(given)] if isinstance(given, pa.RecordBatch) else None
    return rows


@final
class SlotFunction:
    """Calls the function for batches, for as many at a time and as often as is allowed. Owned by the slot's loop.

    A coroutine function runs on the asyncio loop, any other one on a thread, where a call goes on after it has been
    cancelled: the function is closed when the last call has left it.
    """

    def __init__(self, calls: BatchCalls, services: Services, passing: Passing) -> None:
        """Make the instance of a class. Raises `UserCodeError`.

        Each call gets records of its own: the operators keep the records for snapshots and further calls.
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
        """A call that was cancelled has left its place, but has its thread until it ends."""
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
        """Return a result for each record, in order. Raises what the last call for them raises, or TimeoutError."""
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
        """Make a call when it may begin; the time for all calls of the batch runs from the begin of the first one."""
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
        """Note one more subtask that calls it."""
        self._users += 1

    def release(self) -> None:
        """Note that a subtask calls it no more; close it after the last one. Raises `UserCodeError`."""
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
