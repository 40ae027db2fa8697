"""Joins in windows, as in Flink: `first.join(second).where(...).equal_to(...).window(...)`, and `co_group`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, final

from headgate.datastream.checks import check_function, check_process_function
from headgate.datastream.windowed_stream import WindowedStream
from headgate.errors import ProgramError
from headgate.functions.api import KeySelector
from headgate.functions.joins import CoGroupFunction, FlatJoinFunction, JoinFunction
from headgate.functions.windows.assigner import WindowAssigner
from headgate.functions.windows.evictors import Evictor
from headgate.functions.windows.trigger import Trigger
from headgate.operators.joins.windowed import AnyJoin, CoGrouped, Joined, KeyOfEither, of_first, of_second
from headgate.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream

AnyKeySelector = Callable[[Any], Any] | KeySelector


class _TwoStreams:
    """Two streams to join in windows, by key: `where` and `equal_to` set the keys, `window` the windows."""

    def __init__(self, first: DataStream, second: DataStream) -> None:
        self._streams = first, second
        self._keys: list[AnyKeySelector | None] = [None, None]
        self._key_type: TypeInformation | None = None

    def where(self, key_selector: AnyKeySelector, key_type: TypeInformation | None = None) -> Self:
        """Set the key of the first stream's records, and the type to which keys of both streams are converted."""
        return self._with_key(0, key_selector, key_type)

    def equal_to(self, key_selector: AnyKeySelector, key_type: TypeInformation | None = None) -> Self:
        """Set the key of the second stream's records."""
        return self._with_key(1, key_selector, key_type)

    def _with_key(self, stream: int, key_selector: AnyKeySelector, key_type: TypeInformation | None) -> Self:
        check_function(key_selector, KeySelector)
        if None not in (key_type, self._key_type) and key_type != self._key_type:
            raise ProgramError(
                f"the keys of the two streams must have the same type, not {self._key_type} and {key_type}"
            )
        self._keys[stream] = key_selector
        self._key_type = key_type or self._key_type
        return self

    def _windowed(self, assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        for key, method in zip(self._keys, ("where", "equal_to"), strict=True):
            if key is None:
                raise ProgramError(f"call {method}(...) before window(...): it sets the key of one stream's records")
        first, second = self._streams
        both = first.map(of_first).union(second.map(of_second))
        return both.key_by(KeyOfEither(*self._keys), self._key_type).window(assigner)


class _InWindows:
    """The windows in which the records of two streams are joined."""

    def __init__(self, windowed: WindowedStream) -> None:
        self._windowed = windowed

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set the trigger, which decides when windows are evaluated."""
        self._windowed.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Set the evictor, which removes records from windows at evaluation."""
        self._windowed.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: int) -> Self:
        """Set how many milliseconds of event time after its end a window accepts late records; 0 by default."""
        self._windowed.allowed_lateness(time_ms)
        return self


@final
class JoinedStreams(_TwoStreams):
    """Two streams to join in windows. Made by `join`."""

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowedJoin:
        """Set the windows in which records are joined."""
        return WindowedJoin(self._windowed(assigner))


@final
class CoGroupedStreams(_TwoStreams):
    """Two streams whose records are gathered in common windows. Made by `co_group`."""

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowedCoGroup:
        """Set the windows in which records are joined."""
        return WindowedCoGroup(self._windowed(assigner))


@final
class WindowedJoin(_InWindows):
    """A join in windows. `apply` makes a stream of the pairs."""

    def apply(self, function: AnyJoin, output_type: TypeInformation | None = None) -> DataStream:
        """Call a function for each pair of records with the same key and window. Records without a partner are dropped.

        A `JoinFunction` or a callable returns one result for a pair, a `FlatJoinFunction` any number of results.
        """
        if not isinstance(function, FlatJoinFunction):
            check_function(function, JoinFunction)
        return self._windowed.apply(Joined(function), output_type)


@final
class WindowedCoGroup(_InWindows):
    """Records of two streams in windows. `apply` calls a function for each window."""

    def apply(self, function: CoGroupFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Call a function for each key and window, with two lists: the records of each stream. One may be empty."""
        check_process_function(function, CoGroupFunction)
        return self._windowed.apply(CoGrouped(function), output_type)
