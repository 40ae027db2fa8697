"""Contents: what the state keeps of the records of a window, and what the window function gets of it.

`Elements` keeps all records, and `Evicting` all records with their timestamps. `combined_contents` has the contents
that are one value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, final

from headgate.errors import RestoreError
from headgate.functions.windows.evictors import Evictor, TimestampedValue
from headgate.functions.windows.window import Window
from headgate.operators.base import close_function, finish_function, open_function
from headgate.operators.runtime_context import Runtime
from headgate.operators.windows.slice_values import ElementSlices, SliceValues
from headgate.operators.windows.two_stacks import SlicesBetween
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import ListStateDescriptor, StateDescriptor
from headgate.state.kinds.merging import merged
from headgate.state.type_check import TypeCheck
from headgate.types.typeinfo import PickledBytesTypeInfo, TypeInformation, Types

STATE_NAME: Final = "window-contents"

First = Callable[[Any], Any]
"""Makes a value of the first record of a window."""
More = Callable[[Any, Any], Any]
"""Adds a record to the value so far."""


class Contents(ABC):
    """The contents of an operator's windows. All methods but `fold` work on the backend's current namespace."""

    _state: Any
    described: StateDescriptor
    """The state that holds the contents, once it is open."""
    _function: object = None
    """The program's function that combines records, if there is one."""

    @abstractmethod
    def _descriptor(self) -> StateDescriptor:
        """Return the descriptor of the state that holds the contents."""

    @abstractmethod
    def fold(self, values: list[Any]) -> list[Any]:
        """Return the input of the window function for a window that has these records only."""

    @abstractmethod
    def inputs(self, window: Window) -> list[Any] | None:
        """Return the input of the window function, which may change it. None: the function is not called."""

    def open(self, runtime: Runtime, backend: KeyedBackend, times: Evictor.EvictorContext) -> None:
        """Declare the state, and open the program's function. Raises `UserCodeError`, `RestoreError`."""
        self._backend = backend
        self.described = self._descriptor()
        try:
            self._state = backend.namespaces.state(self.described)
        except RestoreError as error:
            raise RestoreError(
                f"{error}. The state is what windows hold: one record with reduce(), an accumulator with aggregate(), "
                "all records with process(), and with an evictor also their times. Keep these, or give the operator "
                "another uid"
            ) from error
        self._passing = runtime.passing
        open_function(self._function, runtime)

    def finish(self) -> None:
        """Finish the program's function. Raises `UserCodeError`."""
        finish_function(self._function)

    def close(self) -> None:
        """Close the program's function. Raises `UserCodeError`."""
        close_function(self._function)

    def add(self, value: Any, timestamp: int | None) -> None:
        """Add a record."""
        self._state.add(value)

    def evaluated(self, window: Window) -> None:
        """Remove the records that the evictor evicted; called after the window function."""

    def clear(self) -> None:
        """Remove everything."""
        self._state.clear()

    def merge(self, target: Any, sources: list[Any]) -> None:
        """Merge the contents of the namespaces `sources` into the namespace `target`."""
        self._backend.namespaces.merge(self.described, target, sources)


class PaneContents(Contents):
    """Contents that are one value for each key and window, so that panes and cells of keys can hold them."""

    _type: TypeInformation

    @property
    def type_info(self) -> TypeInformation:
        """The type of the value."""
        return self.described.type_info

    @abstractmethod
    def take(self) -> Any:
        """Remove and return the value of the current namespace; None for none."""

    def merged(self, values: list[Any]) -> Any:
        """Merge the values of several windows and return the result; None for none. May change the values."""
        target, *sources = values or [None]
        return merged(self.described, target, sources, 0)

    @property
    @abstractmethod
    def is_sliceable(self) -> bool:
        """Whether a window's contents can be made of those of its slices."""

    @abstractmethod
    def steps(self) -> tuple[First, More]:
        """Return two functions: one makes a value of the first record, one adds a record to the value so far."""

    @abstractmethod
    def owner(self) -> First:
        """Return a function that copies a value, unless nothing can change it."""

    @abstractmethod
    def inputs_of(self, value: Any) -> list[Any] | None:
        """Return the input of the window function for a value; None: the function is not called."""

    @abstractmethod
    def slice_values(self, between: SlicesBetween) -> SliceValues:
        """Return the object that makes values of windows of the values of slices. Only for sliceable contents."""

    def none_made(self) -> Any:
        """Return the result of a window for which the program's function has returned None: none.

        None is no value, so that the next record is the first. Raises `ProgramError` where it is an error.
        """
        return None

    def _check(self) -> First | None:
        """Return a function that checks a value as the state would; None for state without a declared type."""
        return None if isinstance(self._type, PickledBytesTypeInfo) else TypeCheck(self._descriptor()).value


@final
class Evicting(Contents):
    """All records, with their timestamps. When the window is evaluated, an evictor removes some of them."""

    def __init__(self, evictor: Evictor[Any, Any], combined: Contents) -> None:
        """What is left becomes what it becomes in `combined`."""
        self._function = combined._function
        self._fold = combined.fold
        self._evictor = evictor
        self._left: list[TimestampedValue[Any]] = []

    def _descriptor(self) -> StateDescriptor:
        return ListStateDescriptor(STATE_NAME, Types.TUPLE([Types.LONG(), Types.PICKLED_BYTE_ARRAY()]))

    def open(self, runtime: Runtime, backend: KeyedBackend, times: Evictor.EvictorContext) -> None:
        super().open(runtime, backend, times)
        self._times = times

    def fold(self, values: list[Any]) -> list[Any]:
        return self._fold(values)

    def add(self, value: Any, timestamp: int | None) -> None:
        self._state.add((timestamp, value))

    def inputs(self, window: Window) -> list[Any] | None:
        self._left = left = [TimestampedValue(value, timestamp) for timestamp, value in self._state.get()]
        if not left:
            return None
        self._evictor.evict_before(left, len(left), window, self._times)
        if not left:
            self.clear()
            return None
        return self._fold(self._passing.each_copied([element.value for element in left]))

    def evaluated(self, window: Window) -> None:
        if self._left:
            self._evictor.evict_after(self._left, len(self._left), window, self._times)
        self._state.update([(element.timestamp, element.value) for element in self._left])


@final
class Elements(PaneContents):
    """All records, in order of arrival."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type = type_info

    def _descriptor(self) -> StateDescriptor:
        return ListStateDescriptor(STATE_NAME, self._type)

    def fold(self, values: list[Any]) -> list[Any]:
        return values

    def inputs(self, window: Window) -> list[Any] | None:
        return self._passing.each_copied(self._state.get() or []) or None

    # --- as one value

    def take(self) -> Any:
        records = list(self._state.get())
        self.clear()
        return records or None

    @property
    def is_sliceable(self) -> bool:
        return True

    def steps(self) -> tuple[First, More]:
        check = self._check()
        if check is None:
            return _listed, _appended
        return lambda record: [check(record)], lambda record, records: _appended(check(record), records)

    def owner(self) -> First:
        return list

    def inputs_of(self, value: Any) -> list[Any] | None:
        return list(value)  # the function may change what it is given

    def slice_values(self, between: SlicesBetween) -> ElementSlices:
        return ElementSlices(self._check(), between, self._passing.each_copied)


def _listed(record: Any) -> list[Any]:
    return [record]


def _appended(record: Any, records: list[Any]) -> list[Any]:
    records.append(record)
    return records
