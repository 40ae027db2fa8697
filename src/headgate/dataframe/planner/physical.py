"""From an optimized plan to the operators of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa

from headgate.columns.logical_types import LogicalType
from headgate.columns.program import ColumnProgram
from headgate.columns.schema import Schema, unlike
from headgate.columns.typed import Choose, Constant, Field, Typed, all_fields, fields_of, moved
from headgate.columns.user_aggregates import Accumulation
from headgate.columns.user_kernels import AsyncKernel
from headgate.dataframe.planner.job_text import text_of_job
from headgate.dataframe.planner.logical import (
    Called,
    Delay,
    Distinct,
    EventTime,
    Expand,
    Filter,
    Join,
    JoinKind,
    LateRows,
    Limit,
    MapBatches,
    Project,
    Relation,
    Scan,
    SetOperation,
    Stream,
    UnionAll,
    WindowAggregate,
    inputs_of,
    is_ordered,
)
from headgate.dataframe.planner.optimizer import optimized
from headgate.dataframe.planner.ordered import OverAggregate, Sort
from headgate.dataframe.planner.plan_file import Uids
from headgate.datastream.async_retry_predicates import has_exception_predicate
from headgate.datastream.closeable_iterator import CloseableIterator
from headgate.functions.asynchronous import AsyncFunctionDescriptor, AsyncRetryStrategy
from headgate.functions.watermarks import ColumnTime, WatermarkStrategy
from headgate.functions.windows.session_windows import EventTimeSessionWindows
from headgate.graph.logical import AnyOperatorFactory
from headgate.operators.async_calls import AsyncFactory
from headgate.operators.collect import CollectFactory
from headgate.operators.columns.aggregation import (
    AccumulateParts,
    GivenWindows,
    MergedFactory,
    MergePartials,
    PartialFactory,
    first_field,
)
from headgate.operators.columns.async_calls import AsyncCall, CallRecordsFactory
from headgate.operators.columns.calc import CalcFactory
from headgate.operators.columns.conformity import CastFactory
from headgate.operators.columns.distinct import FirstRowsFactory, KeepFirst, ValuesFactory
from headgate.operators.columns.joins import OUTER, JoinFactory
from headgate.operators.columns.keyed_rows import NULL_KEYS, KeyedRowsFactory, PairOfValues
from headgate.operators.columns.lateness import DelayFactory, LateFactory
from headgate.operators.columns.map_batches import MapBatchesFactory
from headgate.operators.columns.over import OverFactory, OverInput, OverOutput
from headgate.operators.columns.rows import EncodeFactory, ExpandFactory, LimitFactory, RowsFactory
from headgate.operators.columns.sets import CountedRowsFactory, Remaining
from headgate.operators.columns.sort import SortFactory
from headgate.operators.joins.asof import AsOf, AsOfJoinFactory, Nearest
from headgate.operators.watermarks import AssignFactory
from headgate.options import (
    ASYNC_SCALAR_ATTEMPTS,
    ASYNC_SCALAR_CAPACITY,
    ASYNC_SCALAR_RETRY,
    ASYNC_SCALAR_RETRY_DELAY,
    ASYNC_SCALAR_TIMEOUT,
    SOURCE_IDLE_TIMEOUT,
)
from headgate.types.arrow_types import type_of_schema
from headgate.types.instant import Time

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream
    from headgate.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headgate.deploy.handles.handle import JobHandle
    from headgate.functions.sink import Sink
    from headgate.table.table_environment import TableEnvironment


def environment_of(plans: Sequence[Relation], table_environment: TableEnvironment) -> StreamExecutionEnvironment:
    """Return the environment that runs plans as one job: that of their streams, else a new one.

    Raises ValueError if the plans have streams of several environments.
    """
    found = list({id(own): own for plan in plans for own in _stream_environments(plan)}.values())
    if len(found) > 1:
        raise ValueError("the streams of a DataFrame belong to several environments: make them with one")
    return found[0] if found else table_environment.stream_environment()


def _stream_environments(plan: Relation) -> Iterator[StreamExecutionEnvironment]:
    if isinstance(plan, Stream):
        yield plan.stream.get_execution_environment()
    for below in inputs_of(plan):
        yield from _stream_environments(below)


@final
class Translation:
    """Adds the operators of plans to an environment."""

    def __init__(self, environment: StreamExecutionEnvironment, uids: Uids) -> None:
        self.environment = environment
        self.uids = uids
        self._write = "results"

    def write(self, plan: Relation, sink: Sink[Any], name: str, parallelism: int | None) -> None:
        """Send the rows of a plan to a sink. `parallelism` is the number of its subtasks, None for the job's."""
        self._write = name
        made = optimized(plan)
        written = self.stream(made).sink_to(sink).uid(self.uids.of_sink(name, self.environment.uids())).name(name)
        if parallelism is None and is_ordered(made):
            parallelism = 1
        if parallelism is not None:
            written.set_parallelism(parallelism)

    def job_text(self, add: Callable[[], object]) -> str:
        """Return the job graph as text after `add` has added to it, and leave the environment as it is."""
        graph, first = self.environment.chained(add)
        return text_of_job(graph, first, {own.uid for own in self.uids.given} | self.uids.of_sinks)

    def collect(self, plan: Relation) -> tuple[JobHandle, CloseableIterator]:
        """Submit the job. Return it, and the rows of a plan that it sends, as bytes of Arrow IPC streams."""
        made = optimized(plan)
        end = self._after(made, "Results", EncodeFactory(plan.schema.arrow))._end("Collect", CollectFactory())
        if is_ordered(made):
            end.set_parallelism(1)
        job = self.environment.submit()
        return job, CloseableIterator(job)

    def rows(self, plan: Relation, time: int | None) -> DataStream:
        """Return the stream of a plan's rows, with the event times of the column at position `time`, if any."""
        schema = plan.schema.arrow
        found = self._after(optimized(plan), "Rows", RowsFactory(schema, time))
        return found._typed(type_of_schema(schema))

    def stream(self, plan: Relation) -> DataStream:
        """Return the stream of the plan's record batches."""
        match plan:
            case Scan():
                source = plan.source.source(plan.columns)
                mark = plan.watermark
                strategy = None if mark is None else self._strategy(plan.schema, mark.time, mark.delay_ms)
                found = self.environment.from_source(source, strategy, plan.name).uid(self._uid(plan))
                return found if plan.source.conforms else self._conformed(found, plan.schema)
            case Stream():
                return self._conformed(plan.stream, plan.schema)
            case Filter():
                return self._calc(plan.input, plan.predicate, all_fields(plan.schema.types), plan.schema)
            case Project(Filter() as below):
                return self._calc(below.input, below.predicate, [own for _, own in plan.outputs], plan.schema)
            case Project():
                return self._calc(plan.input, None, [own for _, own in plan.outputs], plan.schema)
            case UnionAll():
                first, *others = [self._named(own, plan.schema) for own in plan.inputs]
                return first.union(*others) if others else first
            case Limit():
                factory = LimitFactory(plan.input.schema.arrow, plan.offset, plan.count)
                return self._after(plan.input, "Limit", factory, parallelism=1).uid(self._uid(plan))
            case Expand():
                expand = ExpandFactory(plan.input.schema.arrow, plan.schema.arrow, plan.outer)
                return self._after(plan.input, "Explode", expand)
            case EventTime():
                time = Field(plan.column, plan.schema.types[plan.column])
                assign = AssignFactory(self._strategy(plan.schema, time, plan.delay_ms))
                return self._after(plan.input, "Watermarks", assign)
            case Distinct():
                schema = plan.schema.arrow
                first = self._after(plan.input, "FirstRows", FirstRowsFactory(schema, plan.keys))
                kept = first.key_by(first_field).process(KeepFirst()).uid(self._uid(plan)).name("Distinct")
                return kept._then("Columns", ValuesFactory(schema), None)
            case WindowAggregate():
                return self._windows(plan)
            case Called():
                return self._called(plan)
            case OverAggregate():
                return self._over(plan)
            case Sort():
                return self._sort(plan)
            case Delay():
                return self._after(plan.input, "Delay", DelayFactory(plan.delay_ms))
            case LateRows():
                return self._late_rows(plan)
            case Join():
                return self._join(plan)
            case SetOperation():
                counted = self._after(plan.input, "CountedRows", CountedRowsFactory(plan.input.schema.arrow))
                kept = counted.key_by(first_field).process(Remaining(plan.how)).uid(self._uid(plan)).name(plan.how)
                return kept._then("Columns", ValuesFactory(plan.schema.arrow), None)
            case MapBatches():
                mapped = MapBatchesFactory(plan.declared, plan.batch_format, plan.input.schema.arrow, plan.schema.arrow)
                return self._after(plan.input, "MapBatches", mapped, plan.declared.concurrency)

    def _conformed(self, stream: DataStream, schema: Schema) -> DataStream:
        """Return the stream's records as columns of a schema. Columns may come with other units of time."""
        return stream._then("Cast", CastFactory(schema.arrow), None)

    def _strategy(self, schema: Schema, time: Typed, delay_ms: int) -> WatermarkStrategy:
        """Return the strategy that takes event times from batches of a schema. 0 ms mean that no input becomes idle."""
        reads = sorted(fields_of(time))
        places = {place: new for new, place in enumerate(reads)}
        program = ColumnProgram([moved(time, places)])
        idle_ms = self.environment._settings().get(SOURCE_IDLE_TIMEOUT) or None
        progress = ColumnTime(schema=schema.arrow, reads=tuple(reads), time=program, delay_ms=delay_ms)
        return WatermarkStrategy(progress=progress, idle_timeout_ms=idle_ms)

    def _uid(self, plan: Relation) -> str:
        return self.uids.uid(self._write, plan, self.environment.uids())

    def _windows(self, plan: WindowAggregate) -> DataStream:
        """Aggregate each batch by key and window, and merge the partial results of each key in a window operator."""
        prepared = Project(
            plan.input,
            (
                *((f"k{place}", own) for place, own in enumerate(plan.keys)),
                ("start", plan.start),
                ("end", plan.end),
                *((f"a{place}", own) for place, (_, own) in enumerate(plan.aggregates)),
            ),
        )
        aggregates = [aggregate for aggregate, _ in plan.aggregates]
        windows = GivenWindows() if plan.gap_ms is None else EventTimeSessionWindows(plan.gap_ms)
        partial = PartialFactory(
            prepared.schema.arrow,
            len(plan.keys),
            aggregates,
            plan.zone if plan.point else None,
            1 if plan.gap_ms is None else plan.gap_ms,
        )
        windowed = self._after(prepared, "PartialAggregate", partial).key_by(first_field).window(windows)
        if any(isinstance(own, Accumulation) for aggregate in aggregates for own in aggregate.partials):
            merged = windowed.aggregate(AccumulateParts(aggregates))
        else:
            merged = windowed.reduce(MergePartials(aggregates))
        return merged.uid(self._uid(plan))._then("WindowAggregate", MergedFactory(plan.schema.arrow), None)

    def _late_rows(self, plan: LateRows) -> DataStream:
        """Find rows that are late in their subtask, and of these the rows that are late in all subtasks."""
        schema = plan.schema
        prepared = _beside(plan.input, [plan.end])
        late = LateFactory(prepared.schema.arrow, plan.zone if plan.point else None)
        found = self._after(prepared, "LateRows", late)._then("LateRows", late, None).set_parallelism(1)
        only = CalcFactory(prepared.schema.arrow, schema.arrow, ColumnProgram(all_fields(schema.types)))
        return found._then("Calc", only, None)

    def _sort(self, plan: Sort) -> DataStream:
        """Sort all rows in one subtask, by columns that are there and by computed columns, which it drops."""
        prepared = _beside(plan.input, [own.value for own in plan.keys])
        first = len(plan.schema)
        keys = [(first + place, own.descending, own.nulls_first) for place, own in enumerate(plan.keys)]
        factory = SortFactory(prepared.schema.arrow, plan.schema.arrow, keys, plan.timed)
        return self._after(prepared, "Sort", factory, parallelism=1).uid(self._uid(plan))

    def _over(self, plan: OverAggregate) -> DataStream:
        """Let each row wait for its time with its own partial results, and merge these within the frame of each row."""
        keep = len(plan.input.schema)
        prepared = _beside(plan.input, [*plan.keys, plan.order, *(own for _, own in plan.aggregates)])
        aggregates = [aggregate for aggregate, _ in plan.aggregates]
        rows = OverInput(prepared.schema.arrow, keep, len(plan.keys), plan.timed, aggregates)
        over = OverFactory(plan.frame, aggregates, plan.timed, plan.descending)
        keyed = self._after(prepared, "OverInput", rows).key_by(first_field)
        merged = keyed._then("Over", over, None).uid(self._uid(plan))
        return merged._then("OverAggregate", OverOutput(plan.schema.arrow, keep), None)

    def _called(self, plan: Called) -> DataStream:
        """Call a function in an operator of its own: for columns, or, if it is asynchronous, for records."""
        call, guard, kept, kernel = plan.call, plan.guard, all_fields(plan.input.schema.types), plan.kernel
        concurrency = kernel.declared.concurrency
        if not isinstance(kernel, AsyncKernel):
            result = call if guard is None else Choose(guard, call, _null(call.type), call.type.nulls())
            return self._calc(plan.input, None, [*kept, result], plan.schema, concurrency)
        computed = [*kept, *call.arguments, *([] if guard is None else [guard])]
        prepared = Project(plan.input, tuple((f"{place}", own) for place, own in enumerate(computed)))
        records = CallRecordsFactory(prepared.schema.arrow, len(kept), len(call.arguments), kernel.zone)
        asked = AsyncFactory(self._async_settings(AsyncCall(kernel)), keyed=False)
        stream = self._after(prepared, "CallRecords", records, concurrency)
        called = stream._then(f"Async {call.function}", asked, None).uid(self._uid(plan))
        if concurrency is not None:
            called.set_parallelism(concurrency)
        return called._then("Columns", ValuesFactory(plan.schema.arrow), None)

    def _async_settings(self, function: AsyncCall) -> AsyncFunctionDescriptor:
        settings = self.environment._settings()
        strategy = AsyncRetryStrategy.no_restart()
        if settings.get(ASYNC_SCALAR_RETRY) == "FIXED_DELAY":
            attempts, delay_ms = settings.get(ASYNC_SCALAR_ATTEMPTS), settings.get(ASYNC_SCALAR_RETRY_DELAY)
            strategy = AsyncRetryStrategy.fixed_delay(attempts, delay_ms, None, has_exception_predicate)
        timeout = Time.milliseconds(settings.get(ASYNC_SCALAR_TIMEOUT))
        ordered = AsyncFunctionDescriptor.OutputMode.ORDERED
        return AsyncFunctionDescriptor(function, timeout, settings.get(ASYNC_SCALAR_CAPACITY), strategy, ordered)

    def _join(self, plan: Join) -> DataStream:
        """Join rows of values by their keys. Rows of an outer side with NULL in a key have a key of their own."""
        outer = OUTER.get(plan.how, (False, False))
        left, right = (
            self._after(
                side, "Rows", KeyedRowsFactory(side.schema.arrow, plan.keys, plan.is_timed, null_key if kept else None)
            ).key_by(first_field)
            for side, null_key, kept in zip((plan.left, plan.right), NULL_KEYS, outer, strict=True)
        )
        if plan.kind is JoinKind.AS_OF:
            latest = AsOf(name="join_asof", nearest=Nearest(), outer=plan.how == "left")
            pairs = AsOfJoinFactory(PairOfValues(len(plan.schema) - plan.split), latest)
            joined = left._then_with(right, plan.kind.value, pairs, None).uid(self._uid(plan))
            return joined._then("Columns", ValuesFactory(plan.schema.arrow), None)
        payloads = plan.payloads
        factory = JoinFactory(
            how=plan.how,
            left=payloads[0].arrow,
            right=payloads[1].arrow,
            output=plan.schema.arrow,
            lower_ms=plan.lower_ms,
            upper_ms=plan.upper_ms,
            condition=None if plan.condition is None else ColumnProgram([plan.condition]),
            ttl_ms=plan.ttl_ms,
        )
        return left._then_with(right, plan.kind.value, factory, None).uid(self._uid(plan))

    def _named(self, plan: Relation, schema: Schema) -> DataStream:
        """Return the stream of a plan, with the names of a schema of the same types."""
        if plan.schema == schema and not isinstance(plan, Stream):
            return self.stream(plan)
        return self._calc(plan, None, all_fields(plan.schema.types), schema)

    def _calc(
        self,
        below: Relation,
        predicate: Typed | None,
        outputs: Sequence[Typed],
        schema: Schema,
        parallelism: int | None = None,
    ) -> DataStream:
        test = None if predicate is None else ColumnProgram([predicate])
        factory = CalcFactory(below.schema.arrow, schema.arrow, ColumnProgram(outputs), test)
        return self._after(below, "Calc", factory, parallelism)

    def _after(
        self, below: Relation, name: str, factory: AnyOperatorFactory, parallelism: int | None = None
    ) -> DataStream:
        made = self.stream(below)._then(name, factory, None)
        if parallelism is None and is_ordered(below):
            parallelism = 1
        return made if parallelism is None else made.set_parallelism(parallelism)


def _null(kind: LogicalType) -> Constant:
    return Constant(pa.scalar(None, kind.arrow), kind.nulls())


def _beside(plan: Relation, computed: Sequence[Typed]) -> Project:
    """Return the columns of a relation, and computed columns behind them, under names that the relation has not."""
    names = plan.schema.names
    prefix = unlike(names, "k")
    own = zip(names, all_fields(plan.schema.types), strict=True)
    return Project(plan, (*own, *((f"{prefix}{place}", value) for place, value in enumerate(computed))))
