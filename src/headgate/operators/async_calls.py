"""Asynchronous calls: an operator that calls a coroutine function for each record and emits the results later.

All calls of a slot are coroutines on one loop (`stepped_loop`). All calls of an operator have the same timeout, so they
expire in the order in which they began, and one timer suffices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, final

from headgate.elements import Barrier
from headgate.errors import ProgramError
from headgate.functions.asynchronous import AsyncFunctionDescriptor
from headgate.functions.windows.assigner import millis_of
from headgate.ids import CheckpointId
from headgate.operators.base import OperatorContext, OperatorSnapshot, UserCodeError
from headgate.operators.pending import CallingOperator, PendingInput
from headgate.operators.service_calls import retried
from headgate.operators.user_function import UserFunction
from headgate.types.typed_key import untyped

_EARLY_S: Final = 1e-6
"""Seconds by which a timer may fire early, because times are rounded."""


@final
class AsyncOperator(CallingOperator):
    """Calls `async_invoke` for each record, and `timeout` for each record whose call takes too long."""

    def __init__(self, descriptor: AsyncFunctionDescriptor, *, keyed: bool) -> None:
        is_ordered = descriptor.output_mode is descriptor.OutputMode.ORDERED
        super().__init__(descriptor.capacity, ordered=is_ordered, keyed=keyed)
        self._function = function = descriptor.async_function
        self._user = UserFunction(function)
        self._listed = partial(records_of, function=function, method="async_invoke")
        self._retries = descriptor.async_retry_strategy
        self._timeout_s = millis_of("the timeout", descriptor.timeout) / 1000.0
        self._calls: dict[PendingInput, tuple[asyncio.Task[None], float]] = {}
        """The calls in progress, with the loop's time at which each expires, in the order of expiry."""
        self._timer: asyncio.TimerHandle | None = None

    def open(self, context: OperatorContext) -> None:
        self._extend, self._copied = context.passing.extend, context.passing.copied
        self._invoke = retried(self._called, self._retries, self._listed)
        super().open(context)
        self._loop.call(partial(self._user.open, context))

    def begin(self, pending: PendingInput) -> None:
        due_s = self._loop.time() + self._timeout_s
        self._calls[pending] = self._loop.create_task(self._call(pending)), due_s
        if self._timer is None:
            self._timer = self._loop.call_at(due_s, self._expire)

    def _called(self, record: Any) -> Awaitable[Any]:
        """Call the function with a copy of the record: the operator keeps the record for snapshots and retries."""
        return self._function.async_invoke(self._copied(record))

    async def _call(self, pending: PendingInput) -> None:
        try:
            results = await self._invoke(pending.record)
            if type(results) is not list:
                results = self._listed(results)
            own: list[Any] = []
            self._extend(own, results)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # the loop would only log it
            self._failed(pending, error, "async_invoke()")
        else:
            self._ended(pending, own)

    def _ended(self, pending: PendingInput, results: list[Any]) -> None:
        """Emit the results, unless the call has expired or the attempt has ended."""
        if self._calls.pop(pending, None) is not None:
            self.done(pending, results)

    def _failed(self, pending: PendingInput, error: BaseException, during: str) -> None:
        """Let `resume` raise the error, unless the call has expired or the attempt has ended."""
        if self._calls.pop(pending, None) is not None:
            key = untyped(pending.key) if self._keyed else None
            self._fail(UserCodeError(pending.record, key, during), error)

    def _expire(self) -> None:
        """Cancel the calls that have timed out, and set the timer for the next call to expire."""
        self._timer = None
        now_s = self._loop.time() + _EARLY_S
        expired = []
        for pending, (task, due_s) in self._calls.items():
            if due_s > now_s:
                self._timer = self._loop.call_at(due_s, self._expire)
                break
            expired.append((pending, task))
        for pending, task in expired:
            task.cancel()
            try:
                results = records_of(self._function.timeout(self._copied(pending.record)), self._function, "timeout")
                own: list[Any] = []
                self._extend(own, results)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  # the loop would only log it
                self._failed(pending, error, "timeout()")
            else:
                self._ended(pending, own)

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        snapshot = super().snapshot(barrier)
        return replace(snapshot, lists={**self._user.snapshot(barrier), **snapshot.lists})

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        self._user.notify_completed(checkpoint_id)

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        self._user.notify_aborted(checkpoint_id)

    def end_input(self) -> None:
        self._loop.call(self._user.finish)

    def close(self) -> None:
        """Cancel the calls in progress, then close the function."""
        calls, self._calls = self._calls, {}
        self._cancel(task for task, _ in calls.values())
        self._loop.call_and_wait(self._user.close)


def records_of(results: Any, function: object, method: str) -> list[Any]:
    """Return the result of a method as a list. Raises ProgramError naming the method if it is not iterable."""
    if isinstance(results, Iterable) and not isinstance(results, str | bytes | dict):
        return list(results)
    raise ProgramError(
        f"{method}() of {type(function).__name__} returned {results!r:.100}, of type {type(results).__name__}, but it "
        "must return a list of records; an empty one drops the record"
    )


@final
@dataclass(frozen=True, slots=True)
class AsyncFactory:
    """Makes an `AsyncOperator`. `keyed` says whether its stream is keyed."""

    descriptor: AsyncFunctionDescriptor
    keyed: bool

    def create(self) -> AsyncOperator:
        return AsyncOperator(self.descriptor, keyed=self.keyed)
