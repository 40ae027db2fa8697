"""The environment of a program: its sources, its settings, and where its jobs run."""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, final

from headgate import native, unsupported
from headgate.clock import SystemClock
from headgate.common.configuration import Configuration
from headgate.common.job_client import JobClient
from headgate.common.job_execution_result import JobExecutionResult
from headgate.common.wait import failure_of, interrupted, interrupted_early, wait_for
from headgate.common.watermark_strategy import WatermarkStrategy
from headgate.connectors.collection import CollectionSource
from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.sink import FileSink
from headgate.connectors.files.source import FileSource, InputFormat
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream.checks import check_not_importing, check_source, check_strategy, check_text
from headgate.datastream.data_stream import DataStream
from headgate.datastream.environment_options import EnvironmentOptions
from headgate.datastream.legacy import OlderEnvironment
from headgate.datastream.program import Program, Upstream, acknowledges
from headgate.datastream.python_dependencies import PythonDependencies
from headgate.deploy import choose
from headgate.deploy.handles.handle import JobHandle
from headgate.deploy.job_folder import stored_max_parallelism
from headgate.errors import OrderWarning, ProgramError
from headgate.functions.source import Source
from headgate.graph.chain import ChainedGraph, chain
from headgate.graph.job_graph import JobGraph, JobOptions, execution_plan, plan
from headgate.graph.logical import GraphDefaults, LogicalGraph
from headgate.graph.order import lost_orders
from headgate.graph.resolve import resolve
from headgate.ids import JobId, new_job_id, new_lineage
from headgate.operators.source import SourceFactory
from headgate.options import CHECKPOINT_INTERVAL, JOB_ID, JOB_NAME, NATIVE
from headgate.types.arrow_types import schema_in_micros
from headgate.types.conversion import UNFIT, conversion, culprit
from headgate.types.typeinfo import TypeInformation, Types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Split = TypeVar("Split")

_JOB_NAME = "headgate job"


@final
class StreamExecutionEnvironment(EnvironmentOptions, PythonDependencies, OlderEnvironment):
    """Builds and runs one program at a time.

    Settings of the environment override the command line (`-Dkey=value`) and the Spark conf. Setters return the
    environment. They raise ProgramError or ConfigError for an invalid value.

    >>> in_this_process = Configuration().set_string("headgate.deploy.target", "minicluster")  # else Spark runs the job
    >>> env = StreamExecutionEnvironment.get_execution_environment(in_this_process)
    >>> sink = env.from_collection(["a", "b"]).map(str.upper).print()
    >>> result = env.execute("upper case")
    A
    B
    """

    def __init__(self, configuration: Configuration | None = None, spark: SparkSession | None = None) -> None:
        """Use `get_execution_environment`, which takes the same arguments."""
        self._configuration = Configuration(configuration)
        self._spark = spark
        self._program = Program()

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, spark: SparkSession | None = None
    ) -> StreamExecutionEnvironment:
        """Return a new environment.

        Jobs run on the session `spark`; if it is None, on the active session, else on an embedded local session. The
        option `headgate.deploy.target` may choose another deployment.
        """
        return StreamExecutionEnvironment(configuration, spark)

    # --- where streams begin ---

    def from_collection(self, collection: Iterable[Any], type_info: TypeInformation | None = None) -> DataStream:
        """Return a stream of the records of a list, read by one subtask.

        With a type, records are checked against the type, and sequences are converted to a `Row` or a tuple where the
        type requires it. Raises ProgramError if `collection` is not a collection or a record does not fit the type.
        """
        if isinstance(collection, (str, bytes)) or not isinstance(collection, Iterable):
            raise ProgramError(f"from_collection() takes a list or another collection of records, not {collection!r}")
        records = collection if type_info is None else _typed_records(collection, type_info)
        return self._begin("Collection Source", CollectionSource(records), type_info)

    def create_input(self, input_format: InputFormat, type_info: TypeInformation | None = None) -> DataStream:
        """Return a stream of the records of files, read by an input format such as `AvroInputFormat`.

        The records have the given type, if any, else the type that the format declares.
        """
        if not isinstance(input_format, InputFormat):
            raise ProgramError(
                f"create_input() takes an input format, such as AvroInputFormat, not {input_format!r:.100}"
            )
        return self.from_source(input_format.source(), None, "Custom File Source", type_info)

    def from_source(
        self,
        source: Source[Split],
        watermark_strategy: WatermarkStrategy | None,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Return a stream of the records of a source, with timestamps and watermarks by a strategy, if given.

        The records have the given type, else the type that the source declares. Raises ProgramError if `source` is not
        a source or `watermark_strategy` is not a strategy.
        """
        if watermark_strategy is not None:
            check_strategy("from_source", watermark_strategy)
        check_source(source)
        if type_info is None:
            return self._begin(source_name, source, source.produced_type, watermark_strategy)
        return self._begin(source_name, source, type_info, watermark_strategy)._converted()

    def add_source(
        self, source_func: Source[Split], source_name: str = "Custom Source", type_info: TypeInformation | None = None
    ) -> DataStream:
        """Return a stream of the records of a source. Raises ProgramError if `source_func` is not a source."""
        check_source(source_func)
        return self._begin(source_name, source_func, type_info)._converted()

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """Return a stream of the lines of a file, or of all files in a folder. `FileSource` has more settings."""
        lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(charset_name), file_path)
        return self.from_source(lines.build(), None, "Text File Source", Types.STRING())

    def from_spark(
        self,
        frame: DataFrame,
        source_name: str = "DataFrame",
        records_per_second: float | None = None,
        *,
        watermark_strategy: WatermarkStrategy | None = None,
    ) -> DataStream:
        """Return a stream of the rows of a bounded Spark DataFrame, each a `Row` with the columns' names.

        Spark computes the DataFrame once, when the job starts, and writes it to the job's storage. The subtasks share
        the rows, piece by piece in the order of the DataFrame. With one subtask the stream has that order; with
        several, each subtask reads its own pieces in order. `records_per_second` limits how fast rows are read.
        `watermark_strategy`, if given, assigns timestamps and watermarks. Raises ProgramError for a streaming
        DataFrame, a column whose type records cannot hold, or a `watermark_strategy` that is not a strategy.

        >>> from headgate.common import WatermarkStrategy
        >>> by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.ts)
        >>> stream = env.from_spark(frame.orderBy("ts"), watermark_strategy=by_time)  # doctest: +SKIP
        """
        if watermark_strategy is not None:
            check_strategy("from_spark", watermark_strategy)
        from headgate.deploy.spark.dataframes import frames  # noqa: PLC0415  # pyspark is optional

        source = frames.DataFrameSource(frame, source_name, frames.storage_of(self._settings()))
        limited = source if records_per_second is None else RateLimitedSource(source, records_per_second)
        return self._begin(source_name, limited, source.row_type, watermark_strategy)

    def from_spark_stream(  # noqa: PLR0913  # the settings of a query, by name
        self,
        frame: DataFrame,
        checkpoint_location: str | os.PathLike[str],
        source_name: str = "Streaming DataFrame",
        *,
        output_mode: str = "append",
        processing_time: str | None = None,
        available_now: bool = False,
        free_cores: int = 1,
    ) -> DataStream:
        """Return a stream of the rows of a streaming DataFrame, each a `Row` with the columns' names, exactly once.

        Spark stores its position at `checkpoint_location`, a folder or URI that only this stream uses. A job that
        starts from a savepoint of this job needs the same location. A micro-batch is acknowledged there when a
        checkpoint covers it. `output_mode`, `processing_time` and `available_now` are Spark's output mode and triggers:
        with `available_now` the stream ends. `free_cores` is the number of cores that Spark needs besides the job's
        slots. Raises ProgramError for a DataFrame that is not streaming, or a column whose type records cannot hold.
        """
        from headgate.deploy.spark.dataframes import streams  # noqa: PLC0415  # pyspark is optional

        options = streams.StreamOptions(
            output_mode=output_mode,
            processing_time=processing_time,
            available_now=available_now,
            free_cores=free_cores,
        )
        source, row_type = streams.source_of(frame, checkpoint_location, options)
        return self._begin(source_name, source, row_type)

    # --- running ---

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program and block until it has ended.

        Raises ProgramError if the program cannot run as written, ConfigError for a wrong setting, EnvironmentFault if
        something in the environment is wrong or missing, JobFailedError with the user's own traceback if the job
        failed, JobCancelledError if the job was cancelled, JobSuspendedError if this driver left the job to a later
        driver. An interrupt (Ctrl-C) cancels the job, and a line on standard error reports how the job ended. On a
        terminal, a status line shows the progress of the job, unless the job prints records or
        `headgate.console.status-line` is false.
        """
        try:
            job = self.submit(job_name)
        except KeyboardInterrupt:
            raise interrupted_early() from None
        try:
            result = wait_for(job, sys.stderr if sys.stderr.isatty() else None)
        except KeyboardInterrupt:
            raise interrupted(job) from None
        error = failure_of(result)
        if error is not None:
            raise error from None
        return JobExecutionResult(result)

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start the program without waiting for its end. Raises the errors that `execute` raises before a job runs."""
        return JobClient(self.submit(job_name))

    def submit(self, job_name: str | None = None) -> JobHandle:
        """Start the program and return the handle of the job. `execute_async` and `execute_and_collect` use it."""
        if job_name is not None:
            check_text("the name of a job", job_name)
        check_not_importing()
        graph = self._program.graph()
        job = self.job_graph(job_name)  # first, so that a wrong program fails before a session is started
        native.chosen(job.settings.get(NATIVE))  # raises where the job needs the compiled module and has none
        in_batch = choose.is_batch(graph, job.settings)
        if not in_batch:
            _warn_of_lost_orders(graph, self._defaults(job.settings))
        where = choose.deployment(job.settings, self._spark)
        return where.submit_batch(job) if in_batch else where.submit(job)

    def job_graph(self, job_name: str | None = None) -> JobGraph:
        """Return the job graph for `submit`; the next job then begins without operators. Raises ProgramError."""
        graph = self._program.take()
        settings = self._settings()
        fixed_id = settings.get(JOB_ID)
        options = JobOptions(
            job_id=new_job_id(random.SystemRandom()) if fixed_id is None else JobId(fixed_id),
            lineage=new_lineage(random.SystemRandom(), SystemClock().wall_ms()),
            job_name=job_name or settings.get(JOB_NAME) or _JOB_NAME,
            defaults=replace(self._defaults(settings), stored_max_parallelism=stored_max_parallelism(settings)),
            settings=settings,
            checkpointing=settings.is_given(CHECKPOINT_INTERVAL) or acknowledges(graph),
        )
        return plan(graph, options)

    def collect_frame(self, type_info: TypeInformation, end: Callable[[FileSink], object]) -> DataFrame:
        """Run the program with a Parquet sink, which `end` adds to a stream; return a DataFrame of the sink's files.

        Blocks until the program has ended. Raises ProgramError if a source is unbounded, and the errors of `execute`.
        """
        from headgate.deploy.spark.dataframes import frames  # noqa: PLC0415  # pyspark is optional

        result = frames.DataFrameResult(type_info, frames.storage_of(self._settings()), self._spark)
        columns = BulkWriterFactory.parquet_writer(schema_in_micros(type_info))
        try:
            sink = FileSink.for_bulk_format(result.folder, columns)
            end(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
            self._program.check_bounded("to_spark()")
            self.execute()
        except BaseException:
            result.discard()
            raise
        return result.read()

    def uids(self) -> set[str]:
        """Return the uids that the program has given to operators of the next job."""
        return {node.uid for node in self._program.graph().nodes if node.uid is not None}

    def chained(self, add: Callable[[], object]) -> tuple[ChainedGraph, int]:
        """Return the vertices of the next job if `add` adds its operators, and the id of the first of these.

        The program stays as it is.
        """
        graph, first = self._program.attempted(add)
        return chain(resolve(graph, self._defaults(self._settings()))), first

    def get_execution_plan(self) -> str:
        """Return the program's operators as JSON. Raises ProgramError if the program cannot run as written."""
        return execution_plan(self._program.graph(), self._defaults(self._settings()))

    def close(self) -> None:
        """Do nothing: an environment holds nothing open. A job ends by itself, or through its `JobClient`."""

    # --- how it is done ---

    def _begin(
        self,
        name: str,
        source: Source[Split],
        type_info: TypeInformation | None,
        strategy: WatermarkStrategy | None = None,
    ) -> DataStream:
        check_text("the name of a source", name)
        makes_time = strategy is not None and not strategy.does_nothing
        node = self._program.add(name, SourceFactory(source, strategy if makes_time else None))
        node.is_source = True
        node.parallelism_max = source.parallelism_max
        node.failed_tag = None if source.failed_tag is None else source.failed_tag.tag_id
        return DataStream(self, self._program, (Upstream(node),), type_info)


def _warn_of_lost_orders(graph: LogicalGraph, defaults: GraphDefaults) -> None:
    for lost in lost_orders(graph, defaults):
        warnings.warn(str(lost), OrderWarning, stacklevel=4)


def _typed_records(records: Iterable[Any], record_type: TypeInformation) -> list[Any]:
    """Return the records as values of the type. Raises ProgramError naming the first record that does not fit."""
    given, convert = list(records), conversion(record_type)
    if convert is None:
        return given
    try:
        return list(convert(given))
    except UNFIT:
        place, error = culprit(convert, given)
        raise ProgramError(
            f"record {place} of from_collection() is {given[place]!r}, which does not fit {record_type}: {error}"
        ) from None


unsupported.guard(__name__, globals())
