"""Faults to plant in what runs asynchronous calls: see `plants`."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from headgate.elements import Barrier
from headgate.operators.async_calls import AsyncOperator
from headgate.operators.base import OperatorSnapshot
from headgate.operators.batch_calls import BatchCallOperator
from headgate.operators.pending import PendingInput, PendingOperator, _Segment
from headgate.runtime.slot.attempt_loop import AttemptLoop
from headgate.testing.sim.cluster import SimSlotProcess


def watermark_ahead_of_results(patch: pytest.MonkeyPatch) -> None:
    """A watermark does not wait for the inputs that are pending before it."""
    patch.setattr(PendingOperator, "hold", lambda self, progress: False)


def result_of_an_earlier_attempt(patch: pytest.MonkeyPatch) -> None:
    """Calls go on when their attempt has ended, and the next one takes their results for those of its own calls."""
    newest: dict[int, AsyncOperator] = {}
    began, ended, end = AsyncOperator.begin, AsyncOperator._ended, AttemptLoop.end

    def begin(self: AsyncOperator, pending: PendingInput) -> None:
        newest[id(self._loop)] = self
        began(self, pending)

    def take(self: AsyncOperator, pending: PendingInput, results: list[Any]) -> None:
        other = newest[id(self._loop)]
        if other is not self and other.context.uid == self.context.uid and other._calls:
            ended(other, next(iter(other._calls)), results)
        else:
            ended(self, pending, results)

    patch.setattr(AsyncOperator, "begin", begin)
    patch.setattr(AsyncOperator, "_ended", take)
    patch.setattr(AsyncOperator, "close", lambda self: None)
    patch.setattr(AttemptLoop, "end", lambda self: None)
    patch.setattr(SimSlotProcess, "forget_coroutines", lambda self: end(self.slot._event_loop))


def batch_in_flight_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A batch that is called is no part of a snapshot, only the records that still wait for one."""
    snapshot = PendingOperator.snapshot

    def forgetful(self: BatchCallOperator, barrier: Barrier) -> OperatorSnapshot:
        all_of_them = self._segments
        self._segments = deque([_Segment(dict.fromkeys([*self._gathered, *self._to_begin]))])
        try:
            return snapshot(self, barrier)
        finally:
            self._segments = all_of_them

    patch.setattr(BatchCallOperator, "snapshot", forgetful)
