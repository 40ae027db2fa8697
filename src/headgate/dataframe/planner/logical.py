"""The logical plan of a DataFrame: an immutable tree of relations. Names and types are checked when it is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, final, runtime_checkable

from headgate.columns.aggregates import Aggregate
from headgate.columns.logical_types import LogicalType
from headgate.columns.schema import Schema, unlike
from headgate.columns.typed import Apply, Typed
from headgate.columns.user_kernels import DeclaredFunction, UserKernel
from headgate.dataframe.planner.ordered import OverAggregate, Sort
from headgate.functions.source import Source

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream


class ColumnSource(Protocol):
    """What a relation is read from: it makes the source of a job for the columns that the plan reads."""

    @property
    def schema(self) -> Schema: ...

    @property
    def conforms(self) -> bool:
        """Whether the batches have the types of the schema; else they are cast."""
        ...

    def source(self, columns: Sequence[str]) -> Source[Any]:
        """Return the source of record batches with these columns, in this order."""
        ...


@runtime_checkable
class FailingSource(ColumnSource, Protocol):
    """A source that may have messages that are no rows."""

    def failed_rows(self) -> ColumnSource:
        """Return the source of these messages."""
        ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class SplitWatermark:
    """The watermark of each split of a source: `delay_ms` behind the latest time."""

    time: Typed
    delay_ms: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """Reads columns of a source, by their names. The times of a watermark are computed from these columns."""

    name: str
    source: ColumnSource
    columns: tuple[str, ...]
    watermark: SplitWatermark | None = None

    @property
    def schema(self) -> Schema:
        """The schema of the columns that are read."""
        return self.source.schema.only(self.columns)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """The records of a `DataStream`, as rows of a schema."""

    stream: DataStream
    schema: Schema


@final
@dataclass(frozen=True, slots=True, eq=False)
class Project:
    """Computes columns."""

    input: Relation
    outputs: tuple[tuple[str, Typed], ...]

    @property
    def schema(self) -> Schema:
        """Names and types of the computed columns."""
        return Schema((name, own.type) for name, own in self.outputs)


class SameColumns:
    """A relation with the columns of its input."""

    __slots__ = ()
    input: Relation

    @property
    def schema(self) -> Schema:
        """The schema of the input."""
        return self.input.schema


@final
@dataclass(frozen=True, slots=True, eq=False)
class Filter(SameColumns):
    """Keeps the rows for which a predicate is true."""

    input: Relation
    predicate: Typed


@final
@dataclass(frozen=True, slots=True, eq=False)
class UnionAll:
    """All rows of several relations with equal types, under the names of the first."""

    inputs: tuple[Relation, ...]

    @property
    def schema(self) -> Schema:
        """The schema of the first input; a column has NULL if it has in one of the inputs."""
        columns = zip(*(own.schema.columns for own in self.inputs), strict=True)
        return Schema((same[0][0], same[0][1].nulls(any(own.nullable for _, own in same))) for same in columns)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Limit(SameColumns):
    """Skips `offset` rows, and keeps the next `count`, all of them for None."""

    input: Relation
    offset: int
    count: int | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Expand:
    """A row for each element of the collection in the last column of the input, which its elements replace.

    `outer` keeps a row whose collection is empty or NULL, with NULL as element.
    """

    input: Relation
    names: tuple[str, ...]
    types: tuple[LogicalType, ...]
    outer: bool

    @property
    def schema(self) -> Schema:
        """The columns of the input before its last, and the columns of the elements."""
        own = zip(self.names, self.types, strict=True)
        return Schema([*self.input.schema.columns[:-1], *own])


@final
@dataclass(frozen=True, slots=True, eq=False)
class EventTime(SameColumns):
    """Makes a column the event time: the watermark of a subtask stays `delay_ms` behind the column's latest value.

    Where the column is computed from a source, the rule `timed` makes it the watermark of the source's splits.
    """

    input: Relation
    column: int
    delay_ms: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class WindowAggregate:
    """Aggregates the rows of each key and window, when the watermark passes the end of the window.

    `start` and `end` are local times; `point` tells that the event time is TIMESTAMP_LTZ, so that windows end by the
    session's zone. With `gap_ms`, windows of a key that overlap are one session.
    """

    input: Relation
    keys: tuple[Typed, ...]
    start: Typed
    end: Typed
    aggregates: tuple[tuple[Aggregate, Typed], ...]
    point: bool
    zone: str
    gap_ms: int | None = None

    @property
    def schema(self) -> Schema:
        """The keys, start and end of the window, and the merged partial results."""
        merged = (own for aggregate, _ in self.aggregates for own in aggregate.partials)
        return Schema(
            [
                *((f"k{place}", own.type) for place, own in enumerate(self.keys)),
                ("start", self.start.type),
                ("end", self.end.type),
                *((f"m{place}", own.type) for place, own in enumerate(merged)),
            ]
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Delay(SameColumns):
    """Makes watermarks earlier, so that windows wait for late rows."""

    input: Relation
    delay_ms: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class LateRows(SameColumns):
    """The rows that come when the watermark has passed the end of their window, the local time `end`.

    `point` and `zone` are as in `WindowAggregate`.
    """

    input: Relation
    end: Typed
    point: bool
    zone: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Distinct(SameColumns):
    """The first row to arrive of each key, which the columns at these positions make."""

    input: Relation
    keys: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class SetOperation:
    """What remains of the rows of two sides, `how` "intersect", "intersect_all", "minus" or "minus_all".

    The last column of the input tells whether a row is of the right side.
    """

    input: Relation
    how: str

    @property
    def schema(self) -> Schema:
        """The other columns of the input."""
        return Schema(self.input.schema.columns[:-1])


@final
class JoinKind(Enum):
    """How a join keeps rows: by event time, until their window ends, or for ever."""

    INTERVAL = "IntervalJoin"
    WINDOW = "WindowJoin"
    AS_OF = "AsOfJoin"
    REGULAR = "Join"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """Rows of two inputs with equal keys: pairs, or rows of the left input for `how` "semi" and "anti".

    The columns of an input are `keys` keys, the event time unless the join is regular, and the payload. A right row
    matches if its time is from `lower_ms` to `upper_ms` later, and if the condition, if any, is true for both payloads.
    An as-of join has no bounds: the latest right row matches that is not later. A regular join keeps a row for `ttl_ms`
    after its arrival, 0 for ever.
    """

    left: Project
    right: Project
    kind: JoinKind
    how: str
    keys: int
    lower_ms: int
    upper_ms: int
    condition: Typed | None
    ttl_ms: int

    @property
    def is_timed(self) -> bool:
        """Whether the inputs have an event time."""
        return self.kind is not JoinKind.REGULAR

    @property
    def payload(self) -> int:
        """The position of the first column of the payload in both inputs."""
        return self.keys + self.is_timed

    @property
    def split(self) -> int:
        """The number of columns in the payload of the left input, which precede columns of the right input."""
        return len(self.left.outputs) - self.payload

    @property
    def payloads(self) -> tuple[Schema, Schema]:
        """The payload of each input."""
        return Schema(self.left.schema.columns[self.payload :]), Schema(self.right.schema.columns[self.payload :])

    @property
    def schema(self) -> Schema:
        """The payload of both inputs, which has NULL for rows without a match; of the left one for semi and anti."""
        left, right = self.payloads
        if self.how in ("semi", "anti"):
            return left
        no_left, no_right = self.how in ("right", "full"), self.how in ("left", "full")
        return Schema(
            [
                *((name, own.nulls(own.nullable or no_left)) for name, own in left),
                *((name, own.nulls(own.nullable or no_right)) for name, own in right),
            ]
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class MapBatches:
    """Passes whole record batches through a function of the user, which may return another number of rows."""

    input: Relation
    declared: DeclaredFunction
    batch_format: str

    @property
    def schema(self) -> Schema:
        """The columns that the function returns."""
        return Schema(self.declared.result.fields)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """Adds a column with the results of a call of a function of the user, which runs in an operator of its own.

    For rows for which `guard` is not true, the function is not called, and the result is NULL.
    """

    input: Relation
    call: Apply
    guard: Typed | None

    @property
    def kernel(self) -> UserKernel:
        """The kernel of the call."""
        assert isinstance(self.call.kernel, UserKernel)
        return self.call.kernel

    @property
    def schema(self) -> Schema:
        """The columns of the input, and the results."""
        columns = self.input.schema.columns
        result = self.call.type.nulls(self.call.type.nullable or self.guard is not None)
        return Schema([*columns, (unlike(self.input.schema.names, "$"), result)])


Relation = (
    Scan
    | Stream
    | Project
    | Filter
    | UnionAll
    | Limit
    | Expand
    | EventTime
    | WindowAggregate
    | Delay
    | LateRows
    | Distinct
    | Join
    | SetOperation
    | MapBatches
    | Called
    | OverAggregate
    | Sort
)


def is_ordered(relation: Relation) -> bool:
    """Whether the rows come in an order, which one subtask makes, and which more subtasks would lose."""
    match relation:
        case Sort():
            return True
        case Project() | Filter() | Limit() | Expand() | EventTime():
            return is_ordered(relation.input)
    return False


def inputs_of(relation: Relation) -> tuple[Relation, ...]:
    """Return the relations that a relation reads."""
    match relation:
        case Scan() | Stream():
            return ()
        case UnionAll():
            return relation.inputs
        case Join():
            return relation.left, relation.right
    return (relation.input,)


def scan_of_failed_rows(plan: Relation) -> Scan:
    """Return the scan of the messages that the only source of a plan cannot read. Raises ValueError without one."""
    while len(below := inputs_of(plan)) == 1:
        (plan,) = below
    if not isinstance(plan, Scan) or not isinstance(plan.source, FailingSource):
        raise ValueError("failed_rows() is for a DataFrame that read_kafka() returned, or that is made of a single one")
    failed = plan.source.failed_rows()
    return Scan(f"failed rows of {plan.name}", failed, tuple(failed.schema.names))
