"""Connected streams: two streams that one function reads. Their records may be of different types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

from headgate.datastream.checks import check_function, check_process_function
from headgate.errors import ProgramError
from headgate.functions.api import KeySelector
from headgate.functions.connected import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction
from headgate.operators.connected import (
    CoFlatMapFactory,
    CoMapFactory,
    CoProcessFactory,
    KeyedCoFlatMapFactory,
    KeyedCoMapFactory,
    KeyedCoProcessFactory,
)
from headgate.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream


@final
class ConnectedStreams:
    """Two streams of one environment, read by a function that has one method for each stream's records.

    If both are keyed, the two methods share the function's state and timers for each key. Records of the two streams
    come in no particular order. Event time is the earlier of the two streams' event times.

    The methods raise ProgramError for a function of the wrong class, or if only one of the streams is keyed.
    """

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        """Made by `connect`."""
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: Callable[[Any], Any] | KeySelector,
        key_selector2: Callable[[Any], Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Partition both streams by key: all records of a key go to the same subtask and share the key's state."""
        check_function(key_selector1, KeySelector)
        check_function(key_selector2, KeySelector)
        keyed1 = self.stream1.key_by(key_selector1, key_type)
        return ConnectedStreams(keyed1, self.stream2.key_by(key_selector2, key_type))

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Turn each record of either stream into one record, or none where `func` returns None."""
        check_process_function(func, CoMapFunction)
        factory = KeyedCoMapFactory(func) if self._is_keyed() else CoMapFactory(func)
        return self.stream1._then_with(self.stream2, "Co-Map", factory, output_type)

    def flat_map(self, func: CoFlatMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Turn each record of either stream into any number of records."""
        check_process_function(func, CoFlatMapFunction)
        factory = KeyedCoFlatMapFactory(func) if self._is_keyed() else CoFlatMapFactory(func)
        return self.stream1._then_with(self.stream2, "Co-Flat Map", factory, output_type)

    def process(
        self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a function for each record of either stream. The new stream has the results that it yields or returns.

        On keyed streams a `KeyedCoProcessFunction` has timers; a `CoProcessFunction` has none.
        """
        if not self._is_keyed():
            check_process_function(func, CoProcessFunction)
            return self.stream1._then_with(self.stream2, "Co-Process", CoProcessFactory(func), output_type)
        if not isinstance(func, CoProcessFunction):
            check_process_function(func, KeyedCoProcessFunction)
        return self.stream1._then_with(self.stream2, "Keyed Co-Process", KeyedCoProcessFactory(func), output_type)

    def _is_keyed(self) -> bool:
        first, second = self.stream1.is_keyed, self.stream2.is_keyed
        if first != second:
            unkeyed = "second" if first else "first"
            raise ProgramError(
                "only one of the connected streams is keyed, so records of a key would not reach the same subtask: "
                f"call key_by(...) on the {unkeyed} stream, too, or connect(...).key_by(selector1, selector2)"
            )
        return first
