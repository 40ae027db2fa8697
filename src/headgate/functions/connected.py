"""Functions on two connected streams, with PyFlink's names: one method for the records of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, TypeAlias

from headgate.functions.api import Function, KeyedProcessFunction, ProcessFunction


class CoMapFunction(Function):
    """One record of either stream in, at most one out. On keyed streams both methods share the state of the key."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """Return the record that takes the place of `value` of the first stream; None emits nothing, as in PyFlink."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """Return the record that takes the place of `value` of the second stream; None emits nothing, as in PyFlink."""


class CoFlatMapFunction(Function):
    """One record of either stream in, any number out. On keyed streams both methods share the state of the key."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Yield the records that take the place of `value` of the first stream, or return an iterable of them."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Yield the records that take the place of `value` of the second stream, or return an iterable of them."""


class CoProcessFunction(Function):
    """One record of either stream in, any number out, with a context."""

    Context: TypeAlias = ProcessFunction.Context

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for `value` of the first stream, or return an iterable of them; None means no result."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for `value` of the second stream, or return an iterable of them; None means no result."""


class KeyedCoProcessFunction(Function):
    """One record of either keyed stream in, any number out; both streams share the state and timers of a key.

    Either stream's record may arrive first: a join keeps it in state until the record of the other stream arrives.

    >>> class Join(KeyedCoProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.order = runtime_context.get_state(ValueStateDescriptor("order", Types.STRING()))
    ...         self.payment = runtime_context.get_state(ValueStateDescriptor("payment", Types.LONG()))
    ...     def process_element1(self, value, ctx):
    ...         self.order.update(value[1])
    ...         return self.match(ctx)
    ...     def process_element2(self, value, ctx):
    ...         self.payment.update(value[1])
    ...         return self.match(ctx)
    ...     def match(self, ctx):
    ...         if self.order.value() is not None and self.payment.value() is not None:
    ...             yield ctx.get_current_key(), self.order.value(), self.payment.value()
    """

    Context: TypeAlias = KeyedProcessFunction.Context
    OnTimerContext: TypeAlias = KeyedProcessFunction.OnTimerContext

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for `value` of the first stream, or return an iterable of them; None means no result."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Yield the results for `value` of the second stream, or return an iterable of them; None means no result."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Yield results when a timer is due, or return an iterable of them, whichever stream it was registered on."""
