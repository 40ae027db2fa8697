"""The expressions with `over()`: relations below a projection compute them, and the projection reads their results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar, final

from headgate.columns.aggregates import Aggregate, aggregate_of, is_aggregate
from headgate.columns.frames import SO_FAR, RowFrame
from headgate.columns.functions.registry import CallSite
from headgate.columns.nodes import Call, Node, Over, SortKey, unnamed, walk
from headgate.columns.operand import node_of
from headgate.columns.ranking import RANKINGS, ranking_of
from headgate.columns.schema import unlike
from headgate.columns.typed import Field, Typed, all_fields
from headgate.dataframe.frame import Frame
from headgate.dataframe.planner.logical import (
    Project,
)
from headgate.dataframe.planner.marks import is_time
from headgate.dataframe.planner.ordered import OverAggregate
from headgate.errors import InvalidExpressionError, UnsupportedError
from headgate.options import RUNTIME_MODE
from headgate.table.expression import Expression

F = TypeVar("F", bound=Frame)

DISTINCT: Final = "distinct"


# --- functions of places


def row_number() -> Expression:
    """Return the number of the row, from 1, in the order of `over`. Rows of equal time are numbered as they arrive.

    >>> row_number().over(order_by="at", partition_by="item")
    row_number() OVER (PARTITION BY item ORDER BY at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    """
    return Expression(Call("row_number", ()))


def rank() -> Expression:
    """Return 1 plus the number of rows with an earlier time. Needs `over` with a column of event time."""
    return Expression(Call("rank", ()))


def dense_rank() -> Expression:
    """Return 1 plus the number of different earlier times. Needs `over` with a column of event time."""
    return Expression(Call("dense_rank", ()))


def lag(value: Any, offset: int = 1, default: Any = None) -> Expression:
    """Return the value in the row that is `offset` rows before, in the order of `over`; `default` if there is none.

    `value` is an expression or the name of a column. Raises TypeError for another offset, and ValueError if it is less
    than 1.
    """
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise TypeError(f"offset of lag() is an int, not {offset!r}")
    if offset < 1:
        raise ValueError(f"offset of lag() is at least 1, not {offset}")
    from headgate.table.expressions import col  # noqa: PLC0415

    own = col(value) if isinstance(value, str) else value
    return Expression(Call("lag", (node_of(own), node_of(default)), (offset,)))


# --- in a plan


@final
class _Window(NamedTuple):
    """The rows that aggregates share: one relation computes all of them."""

    keys: tuple[Typed, ...]
    order: Typed
    descending: bool
    timed: bool
    frame: RowFrame


def with_overs(frame: F, nodes: list[Node]) -> F:
    """Return the DataFrame with further columns for each `over()` in the expressions, which its scope resolves.

    Raises `InvalidExpressionError` for what is no aggregate, and for an order or a frame that the mode does not have.
    """
    found = list(dict.fromkeys(own for node in nodes for own in walk(node) if isinstance(own, Over)))
    windows: dict[_Window, list[tuple[Over, Aggregate, Typed]]] = {}
    for node in found:
        window, aggregate, argument = _described(frame, node)
        windows.setdefault(window, []).append((node, aggregate, argument))
    overs: dict[Over, Typed] = {}
    made = frame
    for window, calls in windows.items():
        made = _computed(made, window, calls, overs)
    if overs:
        made._scope = replace(made._scope, overs=overs)
    return made


def _described(frame: Frame, node: Over) -> tuple[_Window, Aggregate, Typed]:
    keys = tuple(frame._typed(key, "partition_by of over()") for key in node.partition_by)
    for key in keys:
        if key.type.fields:
            raise InvalidExpressionError(f"partition_by of over() has a {key.type}, which cannot be a key")
    by = node.order_by if isinstance(node.order_by, SortKey) else SortKey(node.order_by)
    order, descending = frame._typed(by.argument, "order_by of over()"), by.descending
    timed = not descending and is_time(order, frame._plan)
    own, aggregate, argument = _aggregated(frame, node, order, timed=timed)
    window = _Window(keys, order, descending, timed, own)
    _check(frame, window)
    return window, aggregate, argument


def _aggregated(frame: Frame, node: Over, order: Typed, *, timed: bool) -> tuple[RowFrame, Aggregate, Typed]:
    call = unnamed(node.aggregate)
    if not isinstance(call, Call) or not (is_aggregate(call.function) or call.function in RANKINGS):
        raise InvalidExpressionError(
            "over() is for aggregates, such as col('x').sum.over(...), row_number(), rank(), dense_rank() and lag()"
        )
    arguments = tuple(frame._typed(own, f"over(), {call.function}") for own in call.arguments)
    if is_aggregate(call.function):
        site = CallSite(call.function, arguments, (), frame._scope.zone)
        return node.frame, aggregate_of(site, distinct=DISTINCT in call.options), arguments[0]
    if node.frame != SO_FAR:
        raise InvalidExpressionError(f"{call.function}() over rows has its own frame: leave out rows and range")
    if call.function.endswith("rank") and not timed:
        raise UnsupportedError(f"{call.function}() needs order_by with a column of event time, ascending")
    return ranking_of(CallSite(call.function, arguments, call.options, frame._scope.zone), order)


def _check(frame: Frame, window: _Window) -> None:
    is_batch = frame._environment.get_config().get_configuration().read(RUNTIME_MODE) == "BATCH"
    upper = window.frame.upper
    if not is_batch and not window.timed:
        raise UnsupportedError(
            "order_by of over() is a column of event time, ascending: make it with the watermark of the source, or "
            "with_watermark(). With execution.runtime-mode BATCH it is any column"
        )
    if not is_batch and upper != 0:
        raise UnsupportedError(
            "frames of over() end at CURRENT_ROW, because later rows have not arrived. With execution.runtime-mode "
            "BATCH they end anywhere"
        )
    if not window.timed and not window.frame.is_rows and (window.frame.lower or upper):
        raise UnsupportedError(
            "range of over() needs order_by with a column of event time, ascending: with_watermark()"
        )
    if window.order.type.fields:
        raise InvalidExpressionError(f"order_by of over() is a {window.order.type}, which has no order")


def _computed(frame: F, window: _Window, calls: list[tuple[Over, Aggregate, Typed]], overs: dict[Over, Typed]) -> F:
    """Return the DataFrame with the results as further columns, and put these into `overs`."""
    aggregates = tuple((aggregate, argument) for _, aggregate, argument in calls)
    plan = OverAggregate(
        frame._plan, window.keys, window.order, window.frame, aggregates, window.timed, window.descending
    )
    fields = all_fields(plan.schema.types)
    outputs = frame._all()
    prefix = unlike(frame.columns, "v")
    at = len(outputs)
    for place, (node, aggregate, _) in enumerate(calls):
        merged, at = at, at + len(aggregate.partials)
        value = aggregate.value(list(fields[merged:at]))
        overs[node] = Field(len(outputs), value.type)
        outputs.append((f"{prefix}{place}", value))
    return frame._with(Project(plan, tuple(outputs)))
