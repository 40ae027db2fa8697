"""From an optimized plan to the operators of a job."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa

from headgate.columns.program import ColumnProgram
from headgate.columns.schema import Schema
from headgate.columns.typed import Field, Typed
from headgate.dataframe.planner.identity import uid_of
from headgate.dataframe.planner.logical import (
    Batches,
    Distinct,
    EventTime,
    Expand,
    Filter,
    Limit,
    Project,
    Relation,
    Scan,
    Stream,
    UnionAll,
    WindowAggregate,
    inputs_of,
)
from headgate.errors import SourceError
from headgate.functions.windows.session_windows import EventTimeSessionWindows
from headgate.graph.logical import AnyOperatorFactory
from headgate.operators.columns.aggregation import (
    GivenWindows,
    MergedFactory,
    MergePartials,
    PartialFactory,
    first_field,
)
from headgate.operators.columns.calc import CalcFactory
from headgate.operators.columns.distinct import FirstRowsFactory, KeepFirst, ValuesFactory
from headgate.operators.columns.event_time import EventTimeFactory
from headgate.operators.columns.rows import BatchesFactory, ExpandFactory, LimitFactory

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream
    from headgate.datastream.stream_execution_environment import StreamExecutionEnvironment
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

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self._environment = environment

    def stream(self, plan: Relation) -> DataStream:
        """Return the stream of the plan's record batches."""
        match plan:
            case Scan():
                source = self._environment.from_source(plan.source.source(plan.columns), None, plan.name)
                found = source.uid(self._uid(plan))
                return found if plan.source.conforms else self._conformed(found, plan.schema)
            case Stream():
                return self._conformed(plan.stream, plan.schema)
            case Filter():
                return self._calc(plan.input, plan.predicate, _all_of(plan.schema), plan.schema)
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
                time = EventTimeFactory(plan.schema.arrow, plan.column, plan.delay_ms)
                return self._after(plan.input, "Watermarks", time)
            case Distinct():
                schema = plan.schema.arrow
                first = self._after(plan.input, "FirstRows", FirstRowsFactory(schema, plan.keys))
                kept = first.key_by(first_field).process(KeepFirst()).uid(self._uid(plan)).name("Distinct")
                return kept._then("Columns", ValuesFactory(schema), None)
            case WindowAggregate():
                return self._windows(plan)
            case Batches():
                return self._after(plan.input, plan.name, BatchesFactory(plan.input.schema.arrow, plan.make))

    def _conformed(self, stream: DataStream, schema: Schema) -> DataStream:
        """Return the stream's records as columns of a schema. Columns may come with other units of time."""
        return stream._then("Cast", BatchesFactory(schema.arrow, CastToSchema(schema.arrow)), None)

    def _uid(self, plan: Relation) -> str:
        """Return the uid of an operator with state. The second of two equal operators of a job gets another one."""
        uid = uid_of(plan)
        taken = self._environment.uids()
        others = (f"{uid}-{count}" for count in itertools.count(2))
        return next(own for own in itertools.chain([uid], others) if own not in taken)

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
        merged = (
            self._after(prepared, "PartialAggregate", partial)
            .key_by(first_field)
            .window(windows)
            .reduce(MergePartials(aggregates))
            .uid(self._uid(plan))
        )
        return merged._then("WindowAggregate", MergedFactory(plan.schema.arrow), None)

    def _named(self, plan: Relation, schema: Schema) -> DataStream:
        """Return the stream of a plan, with the names of a schema of the same types."""
        if plan.schema == schema and not isinstance(plan, Stream):
            return self.stream(plan)
        return self._calc(plan, None, _all_of(plan.schema), schema)

    def _calc(self, below: Relation, predicate: Typed | None, outputs: Sequence[Typed], schema: Schema) -> DataStream:
        test = None if predicate is None else ColumnProgram([predicate])
        factory = CalcFactory(below.schema.arrow, schema.arrow, ColumnProgram(outputs), test)
        return self._after(below, "Calc", factory)

    def _after(
        self, below: Relation, name: str, factory: AnyOperatorFactory, parallelism: int | None = None
    ) -> DataStream:
        made = self.stream(below)._then(name, factory, None)
        return made if parallelism is None else made.set_parallelism(parallelism)


@final
@dataclass(frozen=True, slots=True)
class CastToSchema:
    """Makes the function that casts the columns of a batch to a schema. It raises `SourceError` naming the column."""

    schema: pa.Schema

    def __call__(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        def cast(batch: pa.RecordBatch) -> pa.RecordBatch:
            columns = [_cast(own, field) for own, field in zip(batch.columns, self.schema, strict=True)]
            return pa.RecordBatch.from_arrays(columns, schema=self.schema)

        return cast


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        made = column.cast(field.type)
    except pa.ArrowException as error:
        raise SourceError(
            f"column {field.name!r} is {column.type} where it is read, with a value that is no {field.type}: {error}"
        ) from None
    if made.null_count and not field.nullable:
        raise SourceError(f"column {field.name!r} has NULL where it is read, but is NOT NULL in schema")
    return made


def _all_of(schema: Schema) -> list[Any]:
    return [Field(place, own) for place, own in enumerate(schema.types)]
