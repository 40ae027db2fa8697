"""Operators with broadcast state: the first input carries records, the second carries broadcast elements.

An error for a broadcast element always fails the job, whatever `on_error` says: a subtask that skipped the element
would have another broadcast state than the other subtasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.elements import Batch
from headgate.functions.record_errors import RecordErrors
from headgate.operators.base import OperatorContext, method_of
from headgate.operators.broadcast_context import (
    BroadcastStates,
    KeyedReadOnlyContext,
    KeyedWritableContext,
    PlainReadOnlyContext,
    PlainWritableContext,
)
from headgate.operators.calls import many
from headgate.operators.keyed import KeyedCall, KeyedContext, KeyedOperator
from headgate.operators.plain import PlainOperator, process_each, record_loop
from headgate.operators.runtime_context import Runtime
from headgate.operators.user_function import FunctionFactory
from headgate.state.descriptors import MapStateDescriptor

Descriptors = tuple[MapStateDescriptor, ...]

_ELEMENT = "process_element"
_BROADCAST_ELEMENT = "process_broadcast_element"


@final
class BroadcastOperator(PlainOperator):
    """Runs a `BroadcastProcessFunction`."""

    def __init__(self, function: object, descriptors: Descriptors, errors: RecordErrors | None = None) -> None:
        super().__init__(function, errors)
        self._descriptors = descriptors

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        function = self._user.function
        states = BroadcastStates(self._user.store, self._descriptors)
        self._call_broadcast = many(method_of(function, _BROADCAST_ELEMENT), context.native)
        self._call = self._user.guarded(many(method_of(function, _ELEMENT), context.native))
        self._context = PlainReadOnlyContext(self._times, states)
        self._broadcast_context = PlainWritableContext(self._times, states)

    def process(self, batch: Batch) -> Batch:
        return self._run(batch, self._call, self._context, f"{_ELEMENT}()")

    def process_second(self, batch: Batch) -> Batch:
        return self._run(batch, self._call_broadcast, self._broadcast_context, f"{_BROADCAST_ELEMENT}()")


@final
class KeyedBroadcastOperator(KeyedOperator):
    """Runs a `KeyedBroadcastProcessFunction`. A broadcast element has no current key."""

    def __init__(self, function: object, descriptors: Descriptors, errors: RecordErrors | None = None) -> None:
        super().__init__(function, self._bind_both, errors)
        self._descriptors = descriptors

    def _bind_both(self, function: object, runtime: Runtime) -> KeyedCall:
        self._record_loop = record_loop(runtime.native, self._extend)
        self._call_broadcast = many(method_of(function, _BROADCAST_ELEMENT), runtime.native)
        return many(method_of(function, _ELEMENT), runtime.native)

    def _make_context(self) -> KeyedContext:
        states = BroadcastStates(self._user.store, self._descriptors)
        context = KeyedReadOnlyContext(self._backend, self.context.services.clock, states)
        self._broadcast_context = KeyedWritableContext(self._backend, context.timers, states)
        return context

    def process(self, batch: Batch) -> Batch:
        return self._process(batch, self._call, f"{_ELEMENT}()")

    def process_second(self, batch: Batch) -> Batch:
        try:
            out = process_each(
                batch, self._record_loop, self._call_broadcast, self._broadcast_context, f"{_BROADCAST_ELEMENT}()"
            )
        finally:
            self._backend.leave()
        return self._split(out)


@final
@dataclass(frozen=True, slots=True)
class BroadcastFactory(FunctionFactory):
    """Makes an operator of a `BroadcastProcessFunction` and the descriptors of its broadcast states."""

    descriptors: Descriptors

    def create(self) -> BroadcastOperator:
        return BroadcastOperator(self.function, self.descriptors, self.errors)


@final
@dataclass(frozen=True, slots=True)
class KeyedBroadcastFactory(FunctionFactory):
    """Makes a keyed operator of a `KeyedBroadcastProcessFunction` and the descriptors of its broadcast states."""

    descriptors: Descriptors

    def create(self) -> KeyedBroadcastOperator:
        return KeyedBroadcastOperator(self.function, self.descriptors, self.errors)
