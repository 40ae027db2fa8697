"""Keyed streams: streams partitioned by key, whose functions may use state for each key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, final

from headgate.datastream.asof_join import AsOfJoined, latest_value, nearest_in_time
from headgate.datastream.checks import check_function, check_not_async, check_other_stream, check_process_function
from headgate.datastream.data_stream import DataStream
from headgate.datastream.interval_join import IntervalJoin
from headgate.datastream.windowed_stream import WindowedStream
from headgate.errors import ProgramError
from headgate.functions import aggregation
from headgate.functions.api import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
)
from headgate.functions.windows.assigner import WindowAssigner
from headgate.functions.windows.count_windows import count_windows
from headgate.graph.logical import Partitioning
from headgate.operators.async_keyed import AsyncKeyedFactory
from headgate.operators.keyed_functions import (
    KeyedFilterFactory,
    KeyedFlatMapFactory,
    KeyedMapFactory,
    KeyedProcessFactory,
    ReduceFactory,
    TypedReduce,
)
from headgate.operators.keys import CustomPartition
from headgate.types.instant import Duration, Time
from headgate.types.typeinfo import TypeInformation


@final
class KeyedStream(DataStream):
    """A stream partitioned by key. Its functions may use state that is kept for each key.

    >>> from headgate.common import Configuration, Types
    >>> from headgate.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    >>> from headgate.datastream.state import ValueStateDescriptor
    >>> class Count(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
    ...     def process_element(self, value, ctx):
    ...         count = (self.count.value() or 0) + 1
    ...         self.count.update(count)
    ...         yield ctx.get_current_key(), count
    >>> in_this_process = Configuration().set_string("headgate.deploy.target", "minicluster")
    >>> env = StreamExecutionEnvironment.get_execution_environment(in_this_process)
    >>> orders = env.from_collection([("fr", 10), ("de", 20), ("fr", 30)])
    >>> with orders.key_by(lambda order: order[0]).process(Count()).execute_and_collect() as counts:
    ...     print(*counts)
    ('fr', 1) ('de', 1) ('fr', 2)
    """

    is_keyed = True

    def __init__(self, origin: DataStream, key_selector: Callable[[Any], Any] | KeySelector) -> None:
        """Made by `key_by`."""
        inputs = tuple(
            replace(upstream, partitioning=Partitioning.KEY_GROUP, key_selector=key_selector)
            for upstream in origin._inputs
        )
        super().__init__(origin._environment, origin._program, inputs, origin._output_type)
        self._origin = origin
        self._has_async_state = False

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Turn each record into one record; `func` may use keyed state."""
        check_function(func, MapFunction)
        return self._then("Map", KeyedMapFactory(func), output_type)

    def flat_map(
        self,
        func: Callable[[Any], Iterable[Any] | None] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn each record into any number of records; `func` may use keyed state."""
        check_function(func, FlatMapFunction)
        return self._then("FlatMap", KeyedFlatMapFactory(func), output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep the records for which `func` is true; `func` may use keyed state."""
        check_function(func, FilterFunction)
        return self._then_same("Filter", KeyedFilterFactory(func))

    def process(  # type: ignore[override]  # as in PyFlink, another class of function
        self, func: KeyedProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a `KeyedProcessFunction` for each record. The new stream has the results that it yields or returns."""
        check_process_function(func, KeyedProcessFunction)
        if self._has_async_state:
            return self._then("KEYED PROCESS", AsyncKeyedFactory(func), output_type)
        check_not_async(func)
        return self._then("KEYED PROCESS", KeyedProcessFactory(func), output_type)

    def enable_async_state(self) -> KeyedStream:
        """Let `process` take a function whose methods are coroutines: other records proceed while one awaits its state.

        See `docs/guides/async.md`. Returns the stream itself.
        """
        self._has_async_state = True
        return self

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Combine the records of each key; for each record, emit the result so far."""
        check_function(func, ReduceFunction)
        return self._reduced("Reduce", func)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Add up a field of each key's records: a position in a tuple, a name in a `Row`, 0 for plain numbers.

        The other fields come from the key's first record. A value that is not a number fails the job with a TypeError.
        """
        return self._reduced("Sum", aggregation.Sum(position_to_sum))

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Keep the smallest value of a field; the other fields come from the key's first record."""
        return self._reduced("Min", aggregation.Min(position_to_min))

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Keep the greatest value of a field; the other fields come from the key's first record."""
        return self._reduced("Max", aggregation.Max(position_to_max))

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """Keep the whole record with the smallest value of a field."""
        return self._reduced("MinBy", aggregation.min_by(position_to_min_by))

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """Keep the whole record with the greatest value of a field."""
        return self._reduced("MaxBy", aggregation.max_by(position_to_max_by))

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Gather the records of each key in windows."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Gather each key's records in windows of `size`; a window begins every `slide` records, 0 means `size`.

        A window is evaluated when it is full. A window that is not full when the input ends is not evaluated.
        """
        return WindowedStream(self, count_windows(size, slide))

    def interval_join(self, other_stream: KeyedStream, how: str = "inner") -> IntervalJoin:
        """Join records with the records of another stream that have the same key and a near timestamp: see `between`.

        `how` is "inner"; "left", "right" or "full" also emit unmatched records (an extension of Flink's API).
        """
        self._check_keyed("interval_join", other_stream)
        return IntervalJoin(self, other_stream, how)

    def join_asof(
        self,
        other_stream: KeyedStream,
        direction: str = "backward",
        *,
        tolerance: Time | Duration | None = None,
        allow_exact_matches: bool = True,
        how: str = "inner",
    ) -> AsOfJoined:
        """Join each record with the record of another stream that has the same key and is nearest in event time.

        `direction` is "backward" for the last record before, "forward" for the first record after, or "nearest". A
        record further away than `tolerance` does not match. With `how="left"`, records without a match are passed to
        the function, too.
        """
        self._check_keyed("join_asof", other_stream)
        asof = nearest_in_time(direction, tolerance, allow_exact_matches, how)
        return AsOfJoined(self, other_stream, asof)

    def join_latest(
        self,
        other_stream: KeyedStream,
        grace: Time | Duration | None = None,
        *,
        how: str = "inner",
        is_deletion: Callable[[Any], Any] | None = None,
    ) -> AsOfJoined:
        """Join each record with the key's value at the record's time; the other stream has the changes of the values.

        Records of either stream may be late by up to `grace`; results are delayed by as much. `is_deletion` returns
        whether a record of the other stream deletes the value. With `how="left"`, records without a value are passed to
        the function, too.
        """
        self._check_keyed("join_latest", other_stream)
        return AsOfJoined(self, other_stream, latest_value(grace, how, is_deletion))

    def _check_keyed(self, method: str, other_stream: object) -> None:
        check_other_stream(method, self, other_stream, DataStream)
        if not isinstance(other_stream, KeyedStream):
            raise ProgramError(f"{method}() takes a keyed stream: call key_by(...) on the other stream, too")

    def key_by(
        self, key_selector: Callable[[Any], Any] | KeySelector, key_type: TypeInformation | None = None
    ) -> KeyedStream:
        """Partition the stream by another key."""
        return self._origin.key_by(key_selector, key_type)

    def _reduced(self, name: str, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        typed = func if self._output_type is None else TypedReduce(func, self._output_type)
        return self._then_same(name, ReduceFactory(typed))

    def _repartitioned(self, partitioning: Partitioning, custom: CustomPartition | None = None) -> DataStream:
        raise ProgramError(
            f"{partitioning.value}() cannot follow key_by(), which partitions the records itself: remove one of the two"
        )
