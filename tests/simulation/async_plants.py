"""Faults to plant in what runs asynchronous calls: see `plants`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from headgate.elements import Barrier, Watermark, WatermarkStatus
from headgate.functions.context import TimeDomain
from headgate.operators.async_calls import AsyncOperator
from headgate.operators.async_keyed import AsyncKeyedOperator
from headgate.operators.base import OperatorSnapshot
from headgate.operators.batch_calls import BatchCallOperator
from headgate.operators.pending import PendingInput, PendingOperator, _Segment
from headgate.runtime.slot.attempt_loop import AttemptLoop
from headgate.testing.sim.slot_process import SimSlotProcess
from headgate.time.timers import Timers


def watermark_ahead_of_results(patch: pytest.MonkeyPatch) -> None:
    """A watermark does not wait for the pending inputs before it."""
    patch.setattr(PendingOperator, "hold", lambda self, progress: False)


def result_of_an_earlier_attempt(patch: pytest.MonkeyPatch) -> None:
    """Calls continue after their attempt, and the next attempt mistakes their results for results of its own calls."""
    newest: dict[int, AsyncOperator] = {}
    began, ended = AsyncOperator.begin, AsyncOperator._ended

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
    _let_coroutines_outlive_attempts(patch)


def _let_coroutines_outlive_attempts(patch: pytest.MonkeyPatch) -> None:
    end = AttemptLoop.end
    patch.setattr(AttemptLoop, "end", lambda self: None)
    patch.setattr(SimSlotProcess, "forget_coroutines", lambda self: end(self.slot._event_loop))


def batch_in_flight_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A snapshot does not contain the batch of a call in progress, only the records that wait for a batch."""
    snapshot = PendingOperator.snapshot

    def forgetful(self: BatchCallOperator, barrier: Barrier) -> OperatorSnapshot:
        all_of_them = self._segments
        self._segments = deque([_Segment(dict.fromkeys([*self._gathered, *self._to_begin]))])
        try:
            return snapshot(self, barrier)
        finally:
            self._segments = all_of_them

    patch.setattr(BatchCallOperator, "snapshot", forgetful)


def watermark_ahead_of_invocations(patch: pytest.MonkeyPatch) -> None:
    """A watermark does not wait for the invocations of keyed functions in progress."""
    hold = PendingOperator.hold

    def passing(self: PendingOperator, progress: Watermark | WatermarkStatus) -> bool:
        return not isinstance(self, AsyncKeyedOperator) and hold(self, progress)

    patch.setattr(PendingOperator, "hold", passing)


def watermark_ahead_of_timers(patch: pytest.MonkeyPatch) -> None:
    """A watermark does not wait for the invocations of the timers that become due with it."""
    fire = AsyncKeyedOperator._fire_into

    def behind(self: AsyncKeyedOperator, segment: Any, timers: Timers, until_ms: int, domain: TimeDomain) -> None:
        fire(self, self._segments[-1], timers, until_ms, domain)

    patch.setattr(AsyncKeyedOperator, "_fire_into", behind)


def invocation_of_an_earlier_attempt(patch: pytest.MonkeyPatch) -> None:
    """Invocations continue after their attempt, and replace the first invocations of their keys in the next attempt."""
    newest: dict[int, AsyncKeyedOperator] = {}
    began, ended = AsyncKeyedOperator.begin, AsyncKeyedOperator.done

    def begin(self: AsyncKeyedOperator, pending: PendingInput) -> None:
        newest[id(self._loop)] = self
        began(self, pending)

    def take(self: AsyncKeyedOperator, pending: PendingInput, results: list[Any]) -> None:
        other = newest[id(self._loop)]
        if other is self or other.context.uid != self.context.uid:
            if self._segment_of[pending].inputs[pending] is None:
                ended(self, pending, results)
            return
        invocation, task = self._calls[pending]
        place = next((each for each in other._calls if each.key == pending.key), None)
        if place is not None and other._segment_of[place].inputs[place] is None:
            invocation.draft._backend = other._backend
            other._calls[place] = invocation, task
            ended(other, place, results)

    patch.setattr(AsyncKeyedOperator, "begin", begin)
    patch.setattr(AsyncKeyedOperator, "done", take)
    patch.setattr(AsyncKeyedOperator, "close", lambda self: None)
    _let_coroutines_outlive_attempts(patch)


def invocations_of_a_key_all_at_once(patch: pytest.MonkeyPatch) -> None:
    """A record does not wait for the end of the previous invocation with the same key."""
    enqueue, began, taken = AsyncKeyedOperator._enqueue, AsyncKeyedOperator.begin, AsyncKeyedOperator._take

    def hasten(self: AsyncKeyedOperator, pending: PendingInput) -> None:
        enqueue(self, pending)
        if self._queues[pending.key][0] is not pending:
            self._to_begin.append(pending)

    def begin(self: AsyncKeyedOperator, pending: PendingInput) -> None:
        if pending in self._calls:
            self._under_way -= 1
        else:
            began(self, pending)

    def take(self: AsyncKeyedOperator, segment: Any, pending: PendingInput) -> list[Any]:
        queue = self._queues[pending.key]
        queue.remove(pending)
        queue.appendleft(pending)
        return taken(self, segment, pending)

    patch.setattr(AsyncKeyedOperator, "_enqueue", hasten)
    patch.setattr(AsyncKeyedOperator, "begin", begin)
    patch.setattr(AsyncKeyedOperator, "_take", take)


def record_overtakes_one_of_its_key(patch: pytest.MonkeyPatch) -> None:
    """Of the records of a key that wait for an invocation, the newest record is invoked first."""
    enqueue = AsyncKeyedOperator._enqueue

    def overtake(self: AsyncKeyedOperator, pending: PendingInput) -> None:
        enqueue(self, pending)
        queue = self._queues[pending.key]
        if len(queue) > 2:
            queue.insert(1, queue.pop())

    patch.setattr(AsyncKeyedOperator, "_enqueue", overtake)


def invocation_in_flight_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A snapshot does not contain the invocations in progress, only the waiting invocations."""
    in_order = AsyncKeyedOperator.in_order

    def waiting(self: AsyncKeyedOperator) -> Iterator[tuple[PendingInput, int]]:
        return (each for each in in_order(self) if each[0] not in self._calls)

    patch.setattr(AsyncKeyedOperator, "in_order", waiting)
