"""Streams: the fluent interface that builds a program, with PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, final, overload

from headgate import unsupported
from headgate.common.execution_config import ExecutionConfig
from headgate.datastream.asof_join import AsOfJoined, latest_value, nearest_in_time
from headgate.datastream.batches import batch_calls
from headgate.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from headgate.datastream.checks import (
    check_function,
    check_not_async,
    check_other_stream,
    check_positive,
    check_process_function,
    check_sink,
    check_strategy,
    check_tag,
    check_type,
)
from headgate.datastream.closeable_iterator import CloseableIterator
from headgate.datastream.connected_streams import ConnectedStreams
from headgate.datastream.data_stream_sink import DataStreamSink
from headgate.datastream.interval_join import IntervalJoin
from headgate.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from headgate.datastream.partitioned_stream import PartitionedStream
from headgate.datastream.program import Program, Upstream
from headgate.datastream.windowed_stream import AllWindowedStream, WindowedStream
from headgate.errors import ProgramError
from headgate.functions import aggregation
from headgate.functions.aggregation import Projection
from headgate.functions.api import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)
from headgate.functions.asynchronous import AsyncRetryStrategy
from headgate.functions.sink import Sink
from headgate.functions.watermarks import WatermarkStrategy
from headgate.functions.windows.assigner import WindowAssigner
from headgate.functions.windows.count_windows import count_windows
from headgate.graph.logical import AnyOperatorFactory, Partitioning
from headgate.operators.async_keyed import AsyncKeyedFactory
from headgate.operators.batch_calls import BatchCallFactory
from headgate.operators.collect import CollectFactory
from headgate.operators.custom_partition import CustomPartition
from headgate.operators.keyed_functions import (
    KeyedFilterFactory,
    KeyedFlatMapFactory,
    KeyedMapFactory,
    KeyedProcessFactory,
)
from headgate.operators.keys import DeclaredKeys
from headgate.operators.plain_functions import FilterFactory, FlatMapFactory, MapFactory, ProcessFactory
from headgate.operators.print import PrintFactory
from headgate.operators.reduce import ReduceFactory, TypedReduce
from headgate.operators.sink import SinkFactory
from headgate.operators.sink_function import SinkFunctionFactory
from headgate.operators.watermarks import AssignFactory
from headgate.types.instant import Duration, Time
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import TupleTypeInfo, TypeInformation, Types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headgate.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]

Committable = TypeVar("Committable")

_MAX_WAIT: Final = Time.milliseconds(100)


class DataStream(PartitionedStream):
    """A stream of records: the output of one operator, or of several operators (a union).

    Methods that make a new stream add an operator to the program; nothing runs before `execute()`. Setters (`name`,
    `uid`, `set_parallelism` and so on) change the operator whose output the stream is, and return the stream itself.
    All methods raise ProgramError for a function of the wrong class or an invalid value.

    >>> from headgate.common import Configuration
    >>> from headgate.datastream import StreamExecutionEnvironment
    >>> in_this_process = Configuration().set_string("headgate.deploy.target", "minicluster")
    >>> env = StreamExecutionEnvironment.get_execution_environment(in_this_process)
    >>> words = env.from_collection(["to be", "or not"]).flat_map(str.split)
    >>> with words.filter(lambda word: word != "or").map(str.upper).execute_and_collect() as records:
    ...     print(*records)
    TO BE NOT
    """

    is_keyed = False
    """Whether the stream is partitioned by key."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        program: Program,
        inputs: tuple[Upstream, ...],
        output_type: TypeInformation | None = None,
    ) -> None:
        """Streams are made by an environment or by another stream, not by programs."""
        self._environment = environment
        self._program = program
        self._inputs = inputs
        self._output_type = output_type

    def get_type(self) -> TypeInformation:
        """Return the declared type of the records, else the type of any Python object."""
        return Types.PICKLED_BYTE_ARRAY() if self._output_type is None else self._output_type

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that the stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """Return the execution settings of the environment; its setters change the environment."""
        return self._environment.get_config()

    # --- operators ---

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Turn each record into one record."""
        check_function(func, MapFunction)
        return self._then("Map", MapFactory(func), output_type)

    def flat_map(
        self,
        func: Callable[[Any], Iterable[Any] | None] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Turn each record into any number of records: `func` yields them, or returns an iterable of them or None."""
        check_function(func, FlatMapFunction)
        return self._then("FlatMap", FlatMapFactory(func), output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep the records for which `func` is true."""
        check_function(func, FilterFunction)
        return self._then_same("Filter", FilterFactory(func))

    def process(self, func: ProcessFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Call a `ProcessFunction` for each record. The new stream has the results that it yields or returns."""
        check_process_function(func, ProcessFunction)
        return self._then("PROCESS", ProcessFactory(func), output_type)

    def map_batches(  # noqa: PLR0913  # users set each of them separately
        self,
        func: Callable[..., Any],
        *,
        return_dtype: TypeInformation | None = None,
        batch_format: str = "rows",
        concurrency: int = 1,
        batch_size: int = 64,
        max_wait: Time | Duration = _MAX_WAIT,
        timeout: Time | Duration | None = None,
        async_retry_strategy: AsyncRetryStrategy | None = None,
        calls_per_second: float | None = None,
    ) -> DataStream:
        """Call a model or a service for batches of records: `func` returns one result for each record, in order.

        `func` is a function, a coroutine function, or a class whose instances can be called (or a `partial` of such a
        class). Its argument is a list of records, or with `batch_format="arrow"` a `pyarrow.RecordBatch`, for which
        the stream needs a declared type. `func` must not change the batch. It returns a list or an array, with Arrow a
        `RecordBatch` or an `Array`.

        If `func` is a class, the subtasks of a slot share one instance. It is created when they are opened. When they
        are closed, its method `close` is called, if it has one. The subtasks of a slot together make at most
        `concurrency` calls at a time, and at most `calls_per_second` calls in a second. A coroutine function runs on
        the slot's asyncio loop, any other function on a thread. With a `concurrency` above 1, `func` must be safe for
        concurrent calls.

        `func` is called when the batch has `batch_size` records, when its oldest record has waited for `max_wait`, or
        when the input has ended. Results have the timestamps of their records; watermarks keep their place. Records
        whose results have not been emitted are part of every snapshot, and are passed to `func` again after a failure.
        The job fails if a call raises an exception, unless `async_retry_strategy` repeats the call. The job also fails
        if a call with all its repetitions takes longer than `timeout`. Raises ProgramError for invalid arguments.

        >>> from headgate.common import Configuration
        >>> from headgate.datastream import StreamExecutionEnvironment
        >>> class Model:
        ...     def __init__(self):
        ...         self.weight = 2.5
        ...     def __call__(self, numbers):
        ...         return [self.weight * number for number in numbers]
        >>> in_this_process = Configuration().set_string("headgate.deploy.target", "minicluster")
        >>> env = StreamExecutionEnvironment.get_execution_environment(in_this_process)
        >>> scored = env.from_collection([1, 2, 3]).map_batches(Model, return_dtype=Types.DOUBLE(), batch_size=2)
        >>> with scored.execute_and_collect() as scores:
        ...     print(*scores)
        2.5 5.0 7.5
        """
        calls = batch_calls(
            func,
            self._output_type,
            batch_format=batch_format,
            concurrency=concurrency,
            batch_size=batch_size,
            max_wait=max_wait,
            timeout=timeout,
            async_retry_strategy=async_retry_strategy,
            calls_per_second=calls_per_second,
        )
        return self._then("MapBatches", BatchCallFactory(calls, keyed=self.is_keyed), return_dtype)

    def key_by(
        self, key_selector: Callable[[Any], Any] | KeySelector, key_type: TypeInformation | None = None
    ) -> KeyedStream:
        """Partition the stream by key: all records of a key go to the same subtask, which keeps the key's state.

        The selector must always return the same key for the same record, in every process. With a `key_type`, keys are
        converted to that type; without one, 1, True, 1.0 and None are different keys. `docs/reference/key-hash.md`
        lists the values that may be keys. Any other value fails the job with an error that says what to use instead.
        """
        check_function(key_selector, KeySelector)
        check_type("key_by", key_type)
        return KeyedStream(self, key_selector if key_type is None else DeclaredKeys(key_selector, key_type))

    def project(self, *field_indexes: int) -> DataStream:
        """Keep these fields of the tuples, in this order. Raises ProgramError unless the stream has a tuple type."""
        if not isinstance(self._output_type, TupleTypeInfo):
            raise ProgramError(
                f"project() needs a stream of tuples, but its type is {self.get_type()}: give the operator before it "
                "output_type=Types.TUPLE([...])"
            )
        types = self._output_type.field_types
        if not field_indexes or not all(index in range(len(types)) for index in field_indexes):
            raise ProgramError(f"project() takes positions from 0 to {len(types) - 1}, not {field_indexes}")
        kept = TupleTypeInfo([types[index] for index in field_indexes])
        return self._then("Projection", MapFactory(Projection(field_indexes)), kept)

    def union(self, *streams: DataStream) -> DataStream:
        """Merge this stream and other streams of this environment; the records of each stream keep their order."""
        for stream in streams:
            check_other_stream("union", self, stream, DataStream)
        merged = (*self._inputs, *(upstream for stream in streams for upstream in stream._inputs))
        return DataStream(self._environment, self._program, merged, self._output_type)

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """Connect this stream to another stream of this environment; one function then reads both.

        The streams may have different types. If the other stream was broadcast with descriptors, each subtask of the
        function gets all its elements.
        """
        if isinstance(ds, BroadcastStream):
            check_other_stream("connect", self, ds.input_stream, DataStream)
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        check_other_stream("connect", self, ds, DataStream)
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Pair records of this stream with records of another that have the same key and are in the same window."""
        check_other_stream("join", self, other_stream, DataStream)
        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """Gather the records of this stream and another stream, by key, in common windows."""
        check_other_stream("co_group", self, other_stream, DataStream)
        return CoGroupedStreams(self, other_stream)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Assign new timestamps to the records and generate new watermarks; earlier ones are replaced.

        Watermark alignment is ignored, with a warning: only sources can wait.
        """
        check_strategy("assign_timestamps_and_watermarks", watermark_strategy)
        if watermark_strategy.alignment is not None:
            unsupported.ignored(
                "with_watermark_alignment()", "only sources can wait; give the strategy to from_source()"
            )
        return self._then_same("Timestamps/Watermarks", AssignFactory(watermark_strategy))

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Gather all records in windows, in one subtask. `key_by(...).window(...)` uses all subtasks."""
        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Gather all records in windows of `size` records; a window begins every `slide` records, 0 means `size`."""
        return AllWindowedStream(self, count_windows(size, slide))

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """Return the stream of the values that the operator's function emits with this tag: `yield tag, value`."""
        check_tag("get_side_output", output_tag)
        only = self._only_input("get_side_output")
        upstream = replace(only, tag=output_tag.tag_id, tag_type=output_tag.type_info)
        return DataStream(self._environment, self._program, (upstream,), output_tag.type_info)

    def cache(self) -> CachedDataStream:
        """Return the stream, with a warning: its records are not cached, so each job computes them again."""
        unsupported.ignored("cache()", "each job computes the stream again; to keep it, write it to files")
        return CachedDataStream(self._environment, self._program, self._inputs, self._output_type)

    # --- the end of a stream ---

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Write each record to the standard output: the console in local mode, executor logs on a cluster.

        Records of a declared type are written as in PyFlink: rows as `+I[1,a]`, other types as in Java, for instance
        `(a,1)`, `true`, `1.0E10`, `null`. Records without a declared type are written by `str`. `sink_identifier` is
        written before each record.
        """
        return self._end("Print to Std. Out", PrintFactory(sink_identifier, self._output_type))

    def add_sink(self, sink_func: SinkFunction | Sink[Any]) -> DataStreamSink:
        """Pass each record to a `SinkFunction`, at least once.

        For a `Sink`, such as StreamingFileSink, this is the same as `sink_to`.
        """
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        check_process_function(sink_func, SinkFunction)
        return self._end("Unnamed", SinkFunctionFactory(sink_func))

    def sink_to(self, sink: Sink[Committable]) -> DataStreamSink:
        """Write each record to a `Sink`, exactly once."""
        check_sink(sink)
        typed = sink if self._output_type is None else sink.of_type(self._output_type)
        return self._end("Writer", SinkFactory(typed))

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, limit: None = None) -> CloseableIterator: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Any]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the program and return the records of this stream: an iterator, or with `limit` a list.

        The program receives each record once, also when the job restarts or is rescaled. A program that starts from a
        snapshot receives the records of this stream between the snapshot and the checkpoint before it, even if an
        earlier program has received them. The iterator blocks until a record arrives, and raises JobFailedError if the
        job fails. Closing the iterator cancels a job that still runs. With `limit` this method blocks until it has that
        many records or the job has ended. Raises the errors that `StreamExecutionEnvironment.execute` raises before a
        job runs.
        """
        if limit is not None:
            check_positive("the limit of execute_and_collect()", limit)
        self._end("Data stream collect sink", CollectFactory())
        records = CloseableIterator(self._environment.submit(job_execution_name))
        if limit is None:
            return records
        with records:
            return [record for record, _ in zip(records, range(limit), strict=False)]

    def to_spark(self) -> DataFrame:
        """Run the program, block until it has ended, and return the records of this stream as a Spark DataFrame.

        The stream needs a declared type: each field of a row or tuple becomes a column; a plain value becomes the only
        column, "value". Raises ProgramError for a stream that has no type or never ends, and the errors of `execute`.
        """
        if self._output_type is None:
            raise ProgramError(
                "to_spark() needs to know the columns: give the last operator an output_type, for instance "
                'map(..., output_type=Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()]))'
            )
        return self._environment.collect_frame(
            self._output_type, lambda sink: self._end("DataFrame", SinkFactory(sink))
        )

    # --- how it is done ---

    def _then(self, name: str, operator: AnyOperatorFactory, output_type: TypeInformation | None) -> DataStream:
        return self._then_with(None, name, operator, output_type)

    def _then_with(
        self, second: DataStream | None, name: str, operator: AnyOperatorFactory, output_type: TypeInformation | None
    ) -> DataStream:
        """Add an operator whose second input is `second`."""
        check_type(name, output_type)
        node = self._program.add(name, operator, self._inputs, () if second is None else second._inputs)
        return DataStream(self._environment, self._program, (Upstream(node),), output_type)._converted()

    def _then_same(self, name: str, operator: AnyOperatorFactory) -> DataStream:
        """Add an operator that emits records of this stream unchanged."""
        node = self._program.add(name, operator, self._inputs)
        return DataStream(self._environment, self._program, (Upstream(node),), self._output_type)

    def _converted(self) -> DataStream:
        """Convert the operator's records to the declared type."""
        self._only_input("output_type").node.output_type = self._output_type
        return self

    def _end(self, name: str, operator: AnyOperatorFactory) -> DataStreamSink:
        node = self._program.add(name, operator, self._inputs)
        node.is_sink = True
        return DataStreamSink(node)

    def _with_inputs(self, inputs: tuple[Upstream, ...]) -> DataStream:
        return DataStream(self._environment, self._program, inputs, self._output_type)


@final
class CachedDataStream(DataStream):
    """A stream that Flink would cache for the next job."""

    def invalidate(self) -> None:
        """Do nothing: nothing is cached."""


@final
class KeyedStream(DataStream):
    """A stream partitioned by key. Its functions may use state that is kept for each key.

    >>> from headgate.common import Configuration
    >>> from headgate.datastream import StreamExecutionEnvironment
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


unsupported.guard(__name__, globals())
