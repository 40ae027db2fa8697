"""Operators whose calls are coroutines on the asyncio loop of the slot: what a call raises fails the subtask."""

from __future__ import annotations

import asyncio
from abc import ABC
from collections.abc import Iterable
from typing import Any

from headgate.elements import Flow
from headgate.operators.base import OperatorContext, UserCodeError
from headgate.operators.pending import PendingOperator


class CallingOperator(PendingOperator, ABC):
    """Makes calls on `_loop`, which is there once it is open."""

    _failure: UserCodeError | None = None

    def open(self, context: OperatorContext) -> None:
        self._loop = context.services.event_loop()
        super().open(context)

    def _fail(self, failure: UserCodeError, cause: BaseException) -> None:
        """Have `resume` raise the first failure."""
        if self._failure is None:
            self._failure = failure
            failure.__cause__ = cause
            self.woken = True

    def resume(self, records_max: int) -> list[Flow]:
        if self._failure is not None:
            raise self._failure
        return super().resume(records_max)

    def _cancel(self, calls: Iterable[asyncio.Task[Any]]) -> None:
        """Cancel calls, and let their coroutines end."""
        for task in calls:
            task.cancel()
        self._loop.last_step()
