"""Slots with jobs of the tests, and what the slots say."""

from __future__ import annotations

import pickle
from typing import Any

from headgate.elements import Barrier
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.source import NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.graph.logical import Partitioning
from headgate.ids import Attempt, CheckpointId
from headgate.operators.collect import CollectFactory
from headgate.operators.failure import UserFailure
from headgate.operators.keyed_functions import KeyedProcessFactory
from headgate.runtime.control.messages import (
    CheckpointCompleted,
    Collected,
    InjectBarrier,
    TaskFailed,
)
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types
from tests.unit.runtime.plans import SlotRig, Step, line_plan

A1, A2 = Attempt(1), Attempt(2)
CHECKPOINTS = {"execution.checkpointing.interval": "1 h"}
LOG: list[str] = []
"""What functions of this module note; a module is pickled by reference, so it is the test's own list."""


def collecting(*steps: Any, records: Any = (1, 2, 3), settings: dict[str, Any] | None = None) -> SlotRig:
    return SlotRig(line_plan(records, *steps, CollectFactory(), settings=settings))


def checkpointed(*steps: Any, records: Any = (1, 2, 3)) -> SlotRig:
    return collecting(*steps, records=records, settings=CHECKPOINTS)


def collected(rig: SlotRig) -> list[Any]:
    return [record for message in rig.all_sent(Collected) for record in pickle.loads(message.records)]  # noqa: S301


def trigger(number: int, attempt: Attempt = A1) -> InjectBarrier:
    return InjectBarrier(attempt=attempt, barrier=Barrier(CheckpointId(number), 0))


def completed(number: int, attempt: Attempt = A1) -> CheckpointCompleted:
    return CheckpointCompleted(attempt=attempt, checkpoint_id=CheckpointId(number))


def user_failure(rig: SlotRig) -> UserFailure:
    (message,) = rig.all_sent(TaskFailed)
    assert isinstance(message.failure, UserFailure)
    return message.failure


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


def counting(function: KeyedProcessFunction | None = None) -> Step:
    return Step(KeyedProcessFactory(function or Counting()), Partitioning.KEY_GROUP, lambda n: n % 2)


class Pausing(Source[int]):
    """Some records, one at a poll, then a pause of 50 ms, and so on for ever."""

    bounded = False

    def __init__(self, at_once: int = 1) -> None:
        self.at_once = at_once

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return PausingReader(context, self.at_once)


class PausingReader(SourceReader[int]):
    def __init__(self, context: SourceContext, at_once: int) -> None:
        self.context = context
        self.at_once = at_once
        self.count = 0
        self.due_ms = 0.0

    def add_splits(self, splits: list[int]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        now_ms = self.context.monotonic_ms()
        if now_ms < self.due_ms:
            return NotReady(self.due_ms)
        self.count += 1
        if self.count % self.at_once == 0:
            self.due_ms = now_ms + 50
        self.context.count("polled")
        return Records([now_ms])

    def snapshot(self) -> list[int]:
        return [0]


class FailingSnapshot(Pausing):
    def reader(self, context: SourceContext) -> SourceReader[int]:
        return FailingReader(context, self.at_once)


class FailingReader(PausingReader):
    def snapshot(self) -> list[int]:
        raise ValueError("no position")
