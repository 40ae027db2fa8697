"""Window functions: they compute results from the records of a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from headgate.functions.api import Function
from headgate.functions.context import KeyedStateStore
from headgate.functions.windows.window import Window

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Computes the results of a window.

    >>> class Count(WindowFunction):
    ...     def apply(self, key, window, inputs):
    ...         yield key, window.end, len(list(inputs))
    """

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Yield results, or return an iterable of them. `inputs` are the records in order of arrival.

        After `reduce` and `aggregate` there is one input: their result.
        """


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Computes the results of a window over all records of a stream without keys."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Yield results, or return an iterable of them."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Computes the results of a window, with its times and with state.

    >>> class Count(ProcessWindowFunction):
    ...     def process(self, key, context, elements):
    ...         yield key, context.window().start, len(list(elements))
    """

    class Context(ABC, Generic[W2]):
        """Gives `process` the window, its states and the time."""

        __slots__ = ()

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the time of the wall clock in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event time that has been reached, -2**63 before the first watermark."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return the states of the key and window; `clear` must clear them. Raises ProgramError for sessions."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return the states of the key, which all its windows share."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """Yield results, or return an iterable of them. `elements` are the records in order of arrival."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Clear the state of a window that has expired."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Computes the results of a window over all records of a stream without keys, with state."""

    class Context(ABC, Generic[W2]):
        """Gives `process` the window, its states and the time."""

        __slots__ = ()

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return the states of the window; `clear` must clear them. Raises ProgramError for sessions."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return the states that all windows share."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """Yield results, or return an iterable of them. `elements` are the records in order of arrival."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Clear the state of a window that has expired."""


class PassThroughWindowFunction(WindowFunction[Any, Any, Any, Window]):
    """Emits the inputs as they are."""

    def apply(self, key: Any, window: Window, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs


class PassThroughAllWindowFunction(AllWindowFunction[Any, Any, Window]):
    """Emits the inputs as they are."""

    def apply(self, window: Window, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs
