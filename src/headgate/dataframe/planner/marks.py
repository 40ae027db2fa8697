"""Columns with a meaning: event time, and the bounds of windows. A mark follows a column through the plan."""

from __future__ import annotations

from enum import Enum
from typing import final

from headgate.columns.typed import Apply, Field, Typed
from headgate.dataframe.planner.logical import (
    Called,
    Delay,
    Distinct,
    EventTime,
    Expand,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    UnionAll,
    WindowAggregate,
)
from headgate.dataframe.planner.ordered import OverAggregate, Sort


@final
class Mark(Enum):
    """What a column means to operators of event time."""

    EVENT_TIME = "event time"
    WINDOW_TIME = "event time of a window"
    """The last millisecond of the window, which is an event time, too."""
    WINDOW_START = "window start"
    WINDOW_END = "window end"
    WINDOW_END_IN_ZONE = "window end in the session's zone"
    """The end of a window over points in time, TIMESTAMP_LTZ."""

    @property
    def is_time(self) -> bool:
        """Whether the column is an event time."""
        return self in (Mark.EVENT_TIME, Mark.WINDOW_TIME)


def is_time(expression: Typed, plan: Relation) -> bool:
    """Whether an expression of the plan's columns is a column of event time."""
    mark = marks(plan)[expression.index] if isinstance(expression, Field) else None
    return mark is not None and mark.is_time


def marks(plan: Relation) -> list[Mark | None]:
    """Return the mark of each column. A computed column has none, and a cast or arithmetic removes it."""
    match plan:
        case EventTime():
            own = marks(plan.input)
            return [Mark.EVENT_TIME if place == plan.column else mark for place, mark in enumerate(own)]
        case Filter() | Limit() | Distinct() | Sort() | Delay():
            return marks(plan.input)
        case Called():
            return [*marks(plan.input), None]
        case OverAggregate():
            return [*marks(plan.input), *[None] * (len(plan.schema) - len(plan.input.schema))]
        case Expand():
            return [*marks(plan.input)[:-1], *[None] * len(plan.names)]
        case Project():
            below = marks(plan.input)
            return [_mark(expression, below) for _, expression in plan.outputs]
        case UnionAll():
            first, *others = map(marks, plan.inputs)
            return [mark if all(own[place] is mark for own in others) else None for place, mark in enumerate(first)]
        case WindowAggregate():
            count = len(plan.schema) - len(plan.keys) - 2
            end = Mark.WINDOW_END_IN_ZONE if plan.point else Mark.WINDOW_END
            return [*[None] * len(plan.keys), Mark.WINDOW_START, end, *[None] * count]
        case Join():
            return _marks_of_join(plan)
    return [None] * len(plan.schema)


def _marks_of_join(plan: Join) -> list[Mark | None]:
    """Return the marks of columns without NULL whose times the watermark after the join has not passed.

    These are the times of the join, and windows, which end later.
    """
    if plan.kind is JoinKind.REGULAR:
        return [None] * len(plan.schema)
    left = [None] * plan.split if plan.how in ("right", "full") else _kept_marks(plan, plan.left)
    has_right = plan.how in ("inner", "right") and plan.kind is not JoinKind.AS_OF
    right = _kept_marks(plan, plan.right) if has_right else [None] * (len(plan.schema) - plan.split)
    return [*left, *right]


def _kept_marks(plan: Join, side: Project) -> list[Mark | None]:
    _, time = side.outputs[plan.keys]
    columns = zip(marks(side), side.outputs, strict=True)
    kept = [mark if mark is not Mark.EVENT_TIME or own == time else None for mark, (_, own) in columns]
    return kept[plan.payload :]


def _mark(expression: Typed, below: list[Mark | None]) -> Mark | None:
    match expression:
        case Field():
            return below[expression.index]
        case Apply(function="window_start"):
            return Mark.WINDOW_START
        case Apply(function="window_end", options=(_, is_point)):
            return Mark.WINDOW_END_IN_ZONE if is_point else Mark.WINDOW_END
        case Apply(function="window_time"):
            return Mark.WINDOW_TIME
    return None
