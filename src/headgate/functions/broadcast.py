"""Functions on a stream and a broadcast stream, with PyFlink's names: every subtask gets all broadcast elements.

A function keeps broadcast elements in broadcast state. A subtask may write broadcast state while it processes a
broadcast element; while it processes a record of the other stream, it may only read the state. Broadcast elements from
several subtasks arrive in a different order at each receiver, so the state must not depend on their order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headgate.functions import context
from headgate.functions.api import Function

if TYPE_CHECKING:
    from headgate.state.descriptors import MapStateDescriptor, StateDescriptor
    from headgate.state.operator.broadcast_state import BroadcastState, ReadOnlyBroadcastState

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")


class BaseBroadcastProcessFunction(Function):
    """The contexts that both kinds of functions with broadcast state have in common."""

    class BaseContext(context.Context, ABC):
        """Tells a function about the current element, and the time."""

        __slots__ = ()

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the time of the wall clock, in milliseconds since 1970 UTC."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event time that both streams have reached, -2**63 before the first watermarks."""

    class Context(BaseContext, ABC):
        """The context of a broadcast element: broadcast state can be written."""

        __slots__ = ()

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
            """Return one of the states that the stream was broadcast with. Raises StateAccessError for any other."""

    class ReadOnlyContext(BaseContext, ABC):
        """The context of a record of the other stream: broadcast state can only be read."""

        __slots__ = ()

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
            """Return one of the states that the stream was broadcast with. Raises StateAccessError for any other."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """One record of a stream, or one broadcast element, in; any number out.

    >>> from headgate.state.descriptors import MapStateDescriptor
    >>> from headgate.types.typeinfo import Types
    >>> class Translate(BroadcastProcessFunction):
    ...     words = MapStateDescriptor("words", Types.STRING(), Types.STRING())
    ...     def process_broadcast_element(self, value, ctx):
    ...         ctx.get_broadcast_state(self.words).put(*value)
    ...     def process_element(self, value, ctx):
    ...         yield ctx.get_broadcast_state(self.words).get(value, value)
    """

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of a broadcast element."""

        __slots__ = ()

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of a record that is not broadcast."""

        __slots__ = ()

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """Yield the results for a record that is not broadcast, or return an iterable of them; None means no result."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """Yield results for a broadcast element, or return an iterable of them. Every subtask gets each element."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """One record of a keyed stream, with state and timers for each key, or one broadcast element in; any number out."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of a broadcast element. It has no key."""

        __slots__ = ()

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], Iterable[Any] | None]
        ) -> list[Any]:
            """Call `function(key, state)` for every key of this subtask that has a value of the state.

            The keys come in no particular order. Returns what the function yielded or returned for all of them, to be
            emitted with `yield from`. The function may read and change all states of the key; it cannot register or
            delete timers.
            """

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of a record of the keyed stream."""

        __slots__ = ()

        @abstractmethod
        def timer_service(self) -> context.TimerService:
            """Return the clocks, and the timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the current record or timer."""

    class OnTimerContext(ReadOnlyContext, ABC):
        """The context of a timer; `timestamp()` is its time."""

        __slots__ = ()

        @abstractmethod
        def time_domain(self) -> context.TimeDomain:
            """Return the clock that the timer follows."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """Yield the results for a record of the keyed stream, or return an iterable of them; None means no result."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """Yield results for a broadcast element, or return an iterable of them. Every subtask gets each element."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[OUT] | None:
        """Yield results when a timer of a key is due, or return an iterable of them."""
