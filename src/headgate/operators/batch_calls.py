"""Calls for batches of records: an operator that gathers records, calls a function for them, and emits the results.

Records are gathered until the batch is full, or its oldest record has waited for the maximum time. A record is pending
until its result was emitted. Pending records are part of every snapshot, and are gathered again after a restore.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from headgate.elements import MAX_TIMESTAMP, Watermark, WatermarkStatus
from headgate.operators.base import OperatorContext, UserCodeError
from headgate.operators.pending import CallingOperator, PendingInput
from headgate.operators.slot_function import BatchCalls, SlotFunction


@final
class BatchCallOperator(CallingOperator):
    """Calls a function for batches of records, and emits the results in the order of the records."""

    def __init__(self, calls: BatchCalls, *, keyed: bool) -> None:
        super().__init__(calls.batch_size * (calls.concurrency + 1), ordered=True, keyed=keyed)
        self._settings = calls
        self._gathered: list[PendingInput] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_last = False
        """Whether the input has ended, so that an incomplete batch is called at once."""
        self._calls: set[asyncio.Task[None]] = set()
        self._function: SlotFunction | None = None

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        make = partial(SlotFunction, self._settings, context.services, context.passing)
        self._function = context.services.shared(context.uid, make)
        self._function.take()

    def begin(self, pending: PendingInput) -> None:
        self._gathered.append(pending)
        if len(self._gathered) == self._settings.batch_size or (self._is_last and not self._to_begin):
            self._call_gathered()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._settings.max_wait_s, self._call_gathered)

    def hold(self, progress: Watermark | WatermarkStatus) -> bool:
        if isinstance(progress, Watermark) and progress.timestamp_ms == MAX_TIMESTAMP:
            self._is_last = True
            if not self._to_begin:
                self._call_gathered()
        return super().hold(progress)

    def _call_gathered(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._gathered:
            batch, self._gathered = self._gathered, []
            self._calls.add(self._loop.create_task(self._call(batch)))

    async def _call(self, batch: list[PendingInput]) -> None:
        records = [pending.record for pending in batch]
        assert self._function is not None
        try:
            results = await self._function.call(records)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # the loop would only log it
            if self._is_taken():
                self._fail(UserCodeError(records, during=f"a batch of {len(records)} records"), error)
        else:
            if self._is_taken():
                own: list[Any] = []
                self.context.passing.extend(own, results)
                for pending, result in zip(batch, own, strict=True):
                    self.done(pending, [result])

    def _is_taken(self) -> bool:
        """Remove the current call. Return whether its result counts: no result counts once the attempt has ended."""
        task = asyncio.current_task()
        is_taken = task in self._calls
        self._calls.discard(task)
        return is_taken

    def close(self) -> None:
        """Cancel the calls in progress, and release the function. The last subtask to release it closes it."""
        calls, self._calls = self._calls, set()
        if self._timer is not None:
            self._timer.cancel()
        if self._function is not None:
            self._cancel(calls)
            self._function.release()


@final
@dataclass(frozen=True, slots=True)
class BatchCallFactory:
    """Makes a `BatchCallOperator`. `keyed` says whether its stream is keyed."""

    calls: BatchCalls
    keyed: bool

    def create(self) -> BatchCallOperator:
        return BatchCallOperator(self.calls, keyed=self.keyed)
