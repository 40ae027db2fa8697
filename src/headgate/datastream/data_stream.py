"""Streams: the fluent interface that builds a program, with PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, final, overload

from headgate import unsupported
from headgate.common.execution_config import ExecutionConfig
from headgate.datastream.batch_calls import batch_calls
from headgate.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from headgate.datastream.checks import (
    check_function,
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
from headgate.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from headgate.datastream.partitioned_stream import PartitionedStream
from headgate.datastream.program import Program, Upstream
from headgate.datastream.windowed_stream import AllWindowedStream, WindowedStream
from headgate.errors import ProgramError
from headgate.functions.aggregation import Projection
from headgate.functions.api import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    SinkFunction,
)
from headgate.functions.asynchronous import AsyncRetryStrategy
from headgate.functions.sink import Sink
from headgate.functions.watermarks import WatermarkStrategy
from headgate.functions.windows.assigner import WindowAssigner
from headgate.functions.windows.count_windows import count_windows
from headgate.graph.logical import AnyOperatorFactory
from headgate.operators.batch_calls import BatchCallFactory
from headgate.operators.collect import CollectFactory
from headgate.operators.keys import DeclaredKeys
from headgate.operators.plain_functions import FilterFactory, FlatMapFactory, MapFactory, ProcessFactory
from headgate.operators.plain_sinks import PrintFactory, SinkFunctionFactory
from headgate.operators.sink import SinkFactory
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

    def _typed(self, output_type: TypeInformation) -> DataStream:
        """Return the stream with the type that its records have: they are not converted."""
        return DataStream(self._environment, self._program, self._inputs, output_type)

    def _with_inputs(self, inputs: tuple[Upstream, ...]) -> DataStream:
        return DataStream(self._environment, self._program, inputs, self._output_type)


@final
class CachedDataStream(DataStream):
    """A stream that Flink would cache for the next job."""

    def invalidate(self) -> None:
        """Do nothing: nothing is cached."""


# KeyedStream derives from DataStream, and PyFlink has both in this module.
from headgate.datastream.keyed_stream import KeyedStream  # noqa: E402

unsupported.guard(__name__, globals())
