"""Groups of rows, and their aggregates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, Generic, Self, TypeVar, final

from headgate.columns.aggregates import Aggregate, aggregate_of, is_aggregate
from headgate.columns.functions.registry import CallSite
from headgate.columns.logical_types import Kind
from headgate.columns.nodes import Call, Cast, Column, Literal, Named, Node, UserCall, name_of
from headgate.columns.resolve import ExpressionScope
from headgate.columns.typed import Field, Typed, all_fields
from headgate.dataframe.frame import Columns, Frame, node_of_column, refuse
from headgate.dataframe.planner.logical import Delay, LateRows, Project, WindowAggregate
from headgate.dataframe.planner.marks import Mark, marks
from headgate.dataframe.udaf import UserDefinedAggregateFunction
from headgate.errors import InvalidExpressionError, UnsupportedError
from headgate.table.expression import Expression

F = TypeVar("F", bound=Frame)

DISTINCT: Final = "distinct"


class Grouping(Frame):
    """Groups and aggregates."""

    __slots__ = ()

    def group_by(self, *columns: Columns) -> GroupedDataFrame[Self]:
        """Return the groups of rows with equal keys, for `agg`. NULL is a key, too.

        Raises ValueError without columns, TypeError for arguments that are neither names nor expressions.
        """
        return GroupedDataFrame(self, _keys(columns), None)

    def agg(self, *aggs: Expression, **named_aggs: Expression) -> Self:
        """Raise UnsupportedError: the aggregate of all rows would change with each row. Group by windows instead."""
        raise _updating("agg() without windows")


def _keys(columns: tuple[Columns, ...]) -> list[Node]:
    if not columns:
        raise ValueError("group_by() takes at least one column; agg() aggregates all rows")
    return [node_of_column(column, "group_by") for column in columns]


def _updating(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{what} is not supported yet: its results change with each row. Group by window_start and window_end of "
        "tumble(), hop(), cumulate() or session(), or use to_data_stream() and key_by()"
    )


@final
class GroupedDataFrame(Generic[F]):
    """Groups of rows, made by `group_by`."""

    def __init__(self, frame: F, keys: list[Node], gap_ms: int | None) -> None:
        """Made by `group_by`."""
        self._frame = frame
        self._keys = keys
        self._gap_ms = gap_ms

    def agg(self, *aggs: Expression, **named_aggs: Expression) -> F:
        """Return the keys, in their order, then the aggregates: first those given by position, then those by name.

        An expression may combine aggregates: `(col("x").sum / col("x").count).alias("mean")`. Raises ValueError without
        aggregates, for a column that is no key outside of an aggregate, or two results with the same name; TypeError
        for arguments that are no expressions; UnsupportedError for groups without windows.
        """
        nodes = [_aggregate_node(own) for own in aggs]
        nodes += [_aggregate_node(own, name) for name, own in named_aggs.items()]
        if not nodes:
            raise ValueError("agg() takes at least one aggregate")
        return _aggregated(self._frame, self._keys, nodes, self._gap_ms)

    def allowed_lateness(self, lateness: timedelta) -> GroupedDataFrame[F]:
        """Return the groups with windows that wait for late rows: they end so much later than the watermark says.

        A window still emits one result. It does so when the watermark passes the end of the window plus the lateness,
        while Flink's streams emit a result at the end, and another one for each late row. For an early result and a
        late one, aggregate the same windows twice. Event time after the aggregation is later by the lateness, too.
        Raises TypeError for another object, ValueError for a negative length, and UnsupportedError without windows.
        """
        if not isinstance(lateness, timedelta):
            raise TypeError(f"allowed_lateness() takes a timedelta, not {lateness!r}")
        if lateness < timedelta(0):
            raise ValueError(f"the allowed lateness must not be negative, but is {lateness}")
        self._end()
        plan = Delay(self._frame._plan, lateness // timedelta(milliseconds=1))
        return GroupedDataFrame(self._frame._with(plan), self._keys, self._gap_ms)

    def late_rows(self) -> F:
        """Return the rows that come too late for their window, with all columns: `agg` drops them.

        A row is too late when the watermark has passed the end of its window plus the allowed lateness. A row of
        several windows is returned for each window that it missed. Operators of their own find these rows, from a
        source of their own unless they come from a `DataStream`. So with several subtasks, whose watermarks arrive in
        another order, `agg` may count a row that is here. Raises UnsupportedError without windows and for sessions,
        where a late row may join a session that has not ended.
        """
        end = self._end()
        if self._gap_ms is not None:
            raise UnsupportedError(
                "late_rows() is not for sessions: use to_data_stream() and side_output_late_data() of its windows"
            )
        typed = self._frame._typed(end, "late_rows()")
        assert isinstance(typed, Field)
        is_point = marks(self._frame._plan)[typed.index] is Mark.WINDOW_END_IN_ZONE
        return self._frame._with(LateRows(self._frame._plan, typed, is_point, self._frame._scope.zone))

    def _end(self) -> Node:
        """Return the key that is the end of the windows. Raises UnsupportedError if there is none."""
        found = marks(self._frame._plan)
        for node in self._keys:
            typed = self._frame._typed(node, "group_by()")
            if isinstance(typed, Field) and found[typed.index] in _ENDS:
                return node
        raise _updating("group_by() without the columns window_start and window_end")


def _aggregate_node(given: Any, name: str | None = None) -> Node:
    if not isinstance(given, Expression):
        refuse("agg", given)
    return given.node if name is None else given.alias(name).node


def _aggregated(frame: F, keys: list[Node], nodes: list[Node], gap_ms: int | None) -> F:
    plan = frame._plan
    own_marks = marks(plan)
    window: dict[Mark, Typed] = {}
    groups: list[Typed] = []
    outputs: list[tuple[str, Node]] = []
    for place, node in enumerate(keys):
        typed = frame._typed(node, "group_by()")
        mark = own_marks[typed.index] if isinstance(typed, Field) else None
        name = name_of(node) or f"_c{place}"
        if mark is Mark.WINDOW_START or mark in _ENDS:
            window[mark] = typed
            outputs.append((name, _bound_of(mark)))
        elif mark is Mark.WINDOW_TIME:
            outputs.append((name, Call("window_time", (Column("end"),), (typed.type.nulls(nullable=False),))))
        else:
            _check_key(name, typed)
            outputs.append((name, Column(f"k{len(groups)}")))
            groups.append(typed)
    if len(window) < 2:
        raise _updating("group_by() without the columns window_start and window_end")
    return _in_windows(frame, groups, window, outputs, nodes, gap_ms)


_ENDS: Final = (Mark.WINDOW_END, Mark.WINDOW_END_IN_ZONE)


def _bound_of(mark: Mark) -> Node:
    if mark is Mark.WINDOW_START:
        return Call("window_start", (Column("start"),), (0, False))
    return Call("window_end", (Column("end"),), (0, mark is Mark.WINDOW_END_IN_ZONE))


def _check_key(name: str, typed: Typed) -> None:
    if typed.type.kind in (Kind.ARRAY, Kind.MAP, Kind.ROW):
        raise InvalidExpressionError(
            f"group_by(): {name!r} is a {typed.type}, which cannot be a key: use a field of it"
        )


def _in_windows(  # noqa: PLR0913  # the parts of an aggregation
    frame: F,
    groups: list[Typed],
    window: dict[Mark, Typed],
    outputs: list[tuple[str, Node]],
    nodes: Iterable[Node],
    gap_ms: int | None,
) -> F:
    calls = _Calls(frame, merges=gap_ms is not None)
    rest = [(name_of(node) or f"EXPR${place}", calls.replaced(node)) for place, node in enumerate(nodes)]
    end = next(mark for mark in _ENDS if mark in window)
    plan = WindowAggregate(
        frame._plan,
        tuple(groups),
        window[Mark.WINDOW_START],
        window[end],
        tuple(calls.aggregates),
        end is Mark.WINDOW_END_IN_ZONE,
        frame._scope.zone,
        gap_ms,
    )
    made = Project(plan, calls.values(plan))
    scope = ExpressionScope(made.schema, frame._scope.zone)
    results = Project(made, tuple((name, scope.typed(node)) for name, node in [*outputs, *rest]))
    assert results.schema
    return frame._with(results)


@final
class _Calls:
    """The different aggregates within expressions, which columns `v0`, `v1` and so on replace."""

    def __init__(self, frame: Frame, *, merges: bool) -> None:
        self._frame = frame
        self._merges = merges
        self._places: dict[Node, int] = {}
        self.aggregates: list[tuple[Aggregate, Typed]] = []

    def replaced(self, node: Node) -> Node:
        """Return the expression with each aggregate replaced by its column."""
        match node:
            case Call() if is_aggregate(node.function):
                return Column(f"v{self._place(node)}")
            case Call():
                return replace(node, arguments=tuple(map(self.replaced, node.arguments)))
            case UserCall(UserDefinedAggregateFunction() as function):
                return self._of_user(function, node)
            case UserCall():
                return replace(node, arguments=tuple(map(self.replaced, node.arguments)))
            case Cast() | Named():
                return replace(node, argument=self.replaced(node.argument))
            case Column():
                raise InvalidExpressionError(
                    f"agg(): {node.name!r} is not within an aggregate: add it to group_by(), or aggregate it"
                )
        return node

    def _place(self, node: Call) -> int:
        found = self._places.get(node)
        if found is None:
            arguments = tuple(self._frame._typed(own, f"agg(), {node.function}") for own in node.arguments)
            site = CallSite(node.function, arguments, (), self._frame._scope.zone)
            made = aggregate_of(site, distinct=DISTINCT in node.options)
            found = self._places[node] = len(self.aggregates)
            self.aggregates.append((made, arguments[0]))
        return found

    def _of_user(self, function: UserDefinedAggregateFunction, node: UserCall) -> Node:
        """Return the column of a function's results, or, of pandas columns, its call with the values of each group."""
        aggregate = function.aggregate(self._frame._scope.zone)
        if aggregate is None:
            lists = [
                own if isinstance(own, Literal) else self.replaced(Call("array_agg", (own,))) for own in node.arguments
            ]
            return UserCall(function.of_lists(), tuple(lists))
        if self._merges and not function.can_merge:
            raise InvalidExpressionError(f"agg(): {function.name}() has no merge(), which sessions need: add it")
        if node not in self._places:
            self._places[node] = len(self.aggregates)
            self.aggregates.append(
                (aggregate, self._frame._typed(Call("row", node.arguments), f"agg(), {function.name}"))
            )
        return Column(f"v{self._places[node]}")

    def values(self, plan: WindowAggregate) -> tuple[tuple[str, Typed], ...]:
        """Return the keys and the bounds of the window as they are, and the value of each aggregate."""
        columns = plan.schema.columns
        fields: list[Typed] = [*all_fields(plan.schema.types)]
        count = len(plan.keys) + 2
        outputs = [(name, own) for (name, _), own in zip(columns[:count], fields, strict=False)]
        for place, (aggregate, _) in enumerate(self.aggregates):
            merged, count = count, count + len(aggregate.partials)
            outputs.append((f"v{place}", aggregate.value(fields[merged:count])))
        return tuple(outputs)


@final
class SessionOf(Generic[F]):
    """A DataFrame whose rows are in sessions, made by `session`. Its only method is `group_by`."""

    def __init__(self, frame: F, keys: tuple[Node, ...], gap_ms: int) -> None:
        """Made by `session`."""
        self._frame = frame
        self._keys = keys
        self._gap_ms = gap_ms

    def group_by(self, *columns: Columns) -> GroupedDataFrame[F]:
        """Return the groups of rows with equal keys in one session.

        Raises ValueError unless the keys of the sessions, and no others, are among the columns.
        """
        nodes = [node_of_column(column, "group_by") for column in columns]
        bounds = ("window_start", "window_end", "window_time")
        own = [node for node in nodes if getattr(node, "name", None) not in bounds]
        if set(own) != set(self._keys):
            raise InvalidExpressionError(
                "group_by() after session() takes window_start, window_end and the keys of partition_by, and no others"
            )
        return GroupedDataFrame(self._frame, nodes, self._gap_ms)
