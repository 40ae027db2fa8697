"""Windowed streams: functions over the records of each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from headgate import unsupported
from headgate.datastream.checks import check_function, check_lateness, check_process_function, check_tag
from headgate.errors import ProgramError
from headgate.functions import aggregation
from headgate.functions.api import AggregateFunction, Function, ReduceFunction
from headgate.functions.windows.assigner import MergingWindowAssigner, WindowAssigner
from headgate.functions.windows.evictors import Evictor
from headgate.functions.windows.functions import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from headgate.functions.windows.trigger import Trigger
from headgate.operators.keyed_functions import TypedReduce
from headgate.operators.windows.base import Windowing
from headgate.operators.windows.combined_contents import Aggregated, Reduced
from headgate.operators.windows.contents import Contents, Elements, Evicting
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.operators.windows.operator import WindowFactory
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import RowTypeInfo, TypeInformation, Types

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream, KeyedStream
    from headgate.datastream.stream_execution_environment import StreamExecutionEnvironment

AnyReduce: TypeAlias = Callable[[Any, Any], Any] | ReduceFunction


class _Windowed:
    """The methods that windowed streams with a key and without a key share."""

    _window_functions: tuple[type[Function], type[Function]]
    """The class of window functions without a context, and the class with a context."""
    _pass_through: AnyWindowFunction

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise ProgramError(
                f"window() takes a WindowAssigner, such as TumblingEventTimeWindows.of(Time.minutes(1)), not "
                f"{window_assigner!r}"
            )
        self._keyed_stream = keyed_stream
        self._window_assigner = window_assigner
        self._window_trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._allowed_lateness = 0
        self._late_data_output_tag: OutputTag | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that the stream belongs to."""
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """Return the declared type of the records, else the type of any Python object."""
        return self._keyed_stream.get_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set the trigger, which decides when windows are evaluated.

        Raises ProgramError if these windows cannot use the trigger.
        """
        if not isinstance(trigger, Trigger):
            raise ProgramError(f"trigger() takes a Trigger, such as CountTrigger.of(10), not {trigger!r}")
        if isinstance(self._window_assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise ProgramError(
                f"{type(trigger).__name__} cannot be used with windows that merge, as {self._window_assigner!r}: its "
                "can_merge() is false"
            )
        self._window_trigger = trigger
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Set the evictor, which removes records from windows at evaluation.

        With an evictor, state contains all records of a window.
        """
        if not isinstance(evictor, Evictor):
            raise ProgramError(f"evictor() takes an Evictor, such as CountEvictor.of(10), not {evictor!r}")
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: int) -> Self:
        """Set how many milliseconds of event time after its end a window accepts late records; 0 by default."""
        check_lateness(time_ms)
        self._allowed_lateness = time_ms
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send records that arrive too late to a side output, instead of dropping them."""
        check_tag("side_output_late_data", output_tag)
        self._late_data_output_tag = output_tag
        return self

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Add up a field of each window's records; the other fields come from the window's first record."""
        return self._reduced(aggregation.Sum(position_to_sum))

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Emit the smallest value of a field; the other fields come from the window's first record."""
        return self._reduced(aggregation.Min(position_to_min))

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Emit the greatest value of a field; the other fields come from the window's first record."""
        return self._reduced(aggregation.Max(position_to_max))

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """Emit the whole record with the smallest value of a field."""
        return self._reduced(aggregation.min_by(position_to_min_by))

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """Emit the whole record with the greatest value of a field."""
        return self._reduced(aggregation.max_by(position_to_max_by))

    def _reduced(
        self,
        function: AnyReduce,
        window_function: AnyWindowFunction | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        check_function(function, ReduceFunction)
        declared = self._keyed_stream._output_type
        typed = function if declared is None else TypedReduce(function, declared)
        if window_function is None and output_type is None:
            output_type = declared
        return self._combined(Reduced(typed, self.get_input_type()), window_function, output_type)

    def _aggregated(
        self,
        function: AggregateFunction,
        window_function: AnyWindowFunction | None,
        accumulator_type: TypeInformation | list[TypeInformation] | None,
        output_type: TypeInformation | None,
    ) -> DataStream:
        check_process_function(function, AggregateFunction)
        if accumulator_type is None:
            accumulator_type = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(accumulator_type, list):
            accumulator_type = RowTypeInfo(accumulator_type)
        return self._combined(Aggregated(function, accumulator_type), window_function, output_type)

    def _combined(
        self, contents: Contents, window_function: AnyWindowFunction | None, output_type: TypeInformation | None
    ) -> DataStream:
        """Call the window function, if any, with the combined value of each window."""
        if window_function is None:
            return self._evaluated(contents, self._pass_through, output_type)
        if not isinstance(window_function, self._window_functions):
            names = " or a ".join(kind.__name__ for kind in self._window_functions)
            raise ProgramError(f"the window function must be a {names}, not {window_function!r}")
        return self._evaluated(contents, window_function, output_type)

    def _of_elements(
        self, function: AnyWindowFunction, kind: type[Function], output_type: TypeInformation | None
    ) -> DataStream:
        check_process_function(function, kind)
        return self._evaluated(Elements(self.get_input_type()), function, output_type)

    def _evaluated(
        self, contents: Contents, function: AnyWindowFunction, output_type: TypeInformation | None
    ) -> DataStream:
        assigner, trigger = self._window_assigner, self._window_trigger
        windowing = Windowing(
            assigner=assigner,
            trigger=assigner.get_default_trigger(self.get_execution_environment()) if trigger is None else trigger,
            lateness_ms=self._allowed_lateness,
            late_tag=self._late_data_output_tag,
        )
        kept = contents if self._evictor is None else Evicting(self._evictor, contents)
        return self._keyed_stream._then(type(assigner).__name__, WindowFactory(windowing, kept, function), output_type)


class WindowedStream(_Windowed):
    """The windows of each key of a stream. Made by `KeyedStream.window` and `count_window`.

    >>> from headgate.common import Configuration, Time, WatermarkStrategy
    >>> from headgate.datastream import StreamExecutionEnvironment
    >>> from headgate.datastream.window import TumblingEventTimeWindows
    >>> in_this_process = Configuration().set_string("headgate.deploy.target", "minicluster")
    >>> env = StreamExecutionEnvironment.get_execution_environment(in_this_process)
    >>> by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda order, _: order[2])
    >>> orders = env.from_collection([("fr", 1, 1_000), ("de", 5, 2_000), ("fr", 3, 61_000), ("fr", 4, 62_000)])
    >>> keyed = orders.assign_timestamps_and_watermarks(by_time).key_by(lambda order: order[0])
    >>> sums = keyed.window(TumblingEventTimeWindows.of(Time.minutes(1))).sum(1)
    >>> with sums.execute_and_collect() as results:
    ...     print(sorted(results))
    [('de', 5, 2000), ('fr', 1, 1000), ('fr', 7, 61000)]
    """

    _window_functions = (WindowFunction, ProcessWindowFunction)
    _pass_through = PassThroughWindowFunction()

    def reduce(
        self,
        reduce_function: AnyReduce,
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Combine the records of each window; emit the result, or pass it to the window function, if given."""
        return self._reduced(reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any] | None = None,
        accumulator_type: TypeInformation | list[TypeInformation] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Gather the records of each window in an accumulator.

        Emits the accumulator's result, or passes it to the window function, if given.
        """
        return self._aggregated(aggregate_function, window_function, accumulator_type, output_type)

    def apply(
        self, window_function: WindowFunction[Any, Any, Any, Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a `WindowFunction` with all records of each window."""
        return self._of_elements(window_function, WindowFunction, output_type)

    def process(
        self,
        process_window_function: ProcessWindowFunction[Any, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a `ProcessWindowFunction` with all records of each window."""
        return self._of_elements(process_window_function, ProcessWindowFunction, output_type)


class AllWindowedStream(_Windowed):
    """The windows of a stream without keys, which one subtask evaluates. Made by `DataStream.window_all`."""

    _window_functions = (AllWindowFunction, ProcessAllWindowFunction)
    _pass_through = PassThroughAllWindowFunction()

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(data_stream.key_by(_no_key), window_assigner)

    def reduce(
        self,
        reduce_function: AnyReduce,
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Combine the records of each window; emit the result, or pass it to the window function, if given."""
        return self._reduced(reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: AllWindowFunction[Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] | None = None,
        accumulator_type: TypeInformation | list[TypeInformation] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Gather the records of each window in an accumulator.

        Emits the accumulator's result, or passes it to the window function, if given.
        """
        return self._aggregated(aggregate_function, window_function, accumulator_type, output_type)

    def apply(
        self, window_function: AllWindowFunction[Any, Any, Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call an `AllWindowFunction` with all records of each window."""
        return self._of_elements(window_function, AllWindowFunction, output_type)

    def process(
        self,
        process_window_function: ProcessAllWindowFunction[Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a `ProcessAllWindowFunction` with all records of each window."""
        return self._of_elements(process_window_function, ProcessAllWindowFunction, output_type)

    def _evaluated(
        self, contents: Contents, function: AnyWindowFunction, output_type: TypeInformation | None
    ) -> DataStream:
        return super()._evaluated(contents, function, output_type).force_non_parallel()


def _no_key(record: object) -> int:
    return 0


unsupported.guard(__name__, globals())
