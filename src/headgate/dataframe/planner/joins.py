"""The choice of a join, from its condition and the event times of its inputs.

A condition is a conjunction. Its parts become keys, bounds of one event time against the other, and the rest:

1. A *window join* has equal starts and ends of windows among its keys.
2. An *interval join* has a lower and an upper bound.
3. All others are *regular joins*, which keep all rows. They are inner joins: other results would have to be updated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import pyarrow as pa

from headgate.columns import logical_types as types
from headgate.columns.functions.registry import CallSite, rule_of
from headgate.columns.logical_types import Kind
from headgate.columns.typed import Apply, Constant, Field, Typed, can_fail, fields_of, moved, walk
from headgate.columns.user_kernels import AsyncKernel
from headgate.dataframe.planner.logical import Filter, Join, JoinKind, Project, Relation
from headgate.dataframe.planner.marks import Mark, marks
from headgate.dataframe.planner.rules import conjunction, conjuncts
from headgate.errors import UnsupportedError


@final
@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a right event time against a left event time, which are columns at these places of their inputs.

    The right time is from `lower_ms` to `upper_ms` later; None where there is no bound.
    """

    left: int
    right: int
    lower_ms: int | None
    upper_ms: int | None


@final
@dataclass(frozen=True, slots=True)
class JoinInputs:
    """The inputs of a join, and settings of the session. A condition refers to left columns, then right columns."""

    left: Relation
    right: Relation
    zone: str
    ttl_ms: int

    @property
    def split(self) -> int:
        """The number of left columns."""
        return len(self.left.schema)


def chosen(inputs: JoinInputs, how: str, conditions: Iterable[Typed]) -> Relation:
    """Return the join of two inputs on conditions, with all left columns, then all right columns.

    Raises `UnsupportedError` for a join whose results change with later rows.
    """
    parts = [part for own in conditions for part in conjuncts(own)]
    window = _window(inputs, parts)
    found = None if window else _interval(inputs, parts)
    if found is not None:
        bounds, used = found
        parts = [part for part in parts if part not in used]
    free = [part for part in parts if part is parts[0] or not can_fail(part)]  # no part before it keeps it from failing
    pairs = [(part, pair) for part in free if (pair := _pair(inputs, part)) is not None]
    equal = [part for part, _ in pairs]
    rest = [part for part in parts if part not in equal]
    keys = [pair for _, pair in pairs]
    if window is not None:
        return _join(inputs, JoinKind.WINDOW, how, keys, rest, window)
    if found is not None:
        lower_ms, upper_ms = bounds.lower_ms, bounds.upper_ms
        assert lower_ms is not None
        assert upper_ms is not None
        times = _field(inputs.left, bounds.left), _field(inputs.right, bounds.right)
        return _join(inputs, JoinKind.INTERVAL, how, keys, rest, times, lower_ms, upper_ms)
    if how in ("inner", "cross"):
        return _join(inputs, JoinKind.REGULAR, "inner", keys, rest)
    raise UnsupportedError(
        f"join(how={how!r}) without bounds on event time is not supported yet: its results change with later rows. "
        "Bound the event time of one side against the other from both ends, or join windows of tumble(), hop() or "
        "cumulate() on equal window_start and window_end, or use how='inner'"
    )


def as_of(inputs: JoinInputs, how: str, pairs: Sequence[tuple[Typed, Typed]], times: tuple[int, int]) -> Relation:
    """Return each left row with the latest right row of its key that is not later, by the columns of event time."""
    keys = []
    for left, right in pairs:
        match equality(left, right, inputs.zone):
            case Apply(arguments=(one, other)):
                keys.append((one, moved(other, {place: place - inputs.split for place in fields_of(other)})))
            case null:
                keys.append((null, null))
    own = _field(inputs.left, times[0]), _field(inputs.right, times[1])
    return _join(inputs, JoinKind.AS_OF, how, keys, [], own)


def equality(left: Typed, right: Typed, zone: str) -> Typed:
    """Return the condition that two expressions are equal. Raises `InvalidExpressionError` without a common type."""
    return rule_of("equals")(CallSite("equals", (left, right), (), zone))


def _field(plan: Relation, place: int) -> Field:
    return Field(place, plan.schema.types[place])


def _join(  # noqa: PLR0913  # the parts of a join
    inputs: JoinInputs,
    kind: JoinKind,
    how: str,
    keys: Sequence[tuple[Typed, Typed]],
    rest: Sequence[Typed],
    times: tuple[Typed, Typed] | None = None,
    lower_ms: int = 0,
    upper_ms: int = 0,
) -> Relation:
    """Return a join of projections that compute the keys and the time before the payload."""
    sides = []
    for side, (plan, prefix) in enumerate(((inputs.left, "l"), (inputs.right, "r"))):
        computed = [(f"k{place}", pair[side]) for place, pair in enumerate(keys)]
        computed += [] if times is None else [("time", times[side])]
        payload = [(f"{prefix}{place}", _field(plan, place)) for place in range(len(plan.schema))]
        sides.append(Project(plan, (*computed, *payload)))
    condition = conjunction(rest) if rest else None
    ttl_ms = inputs.ttl_ms if kind is JoinKind.REGULAR else 0
    left, right = sides
    if condition is not None and how != "inner" and any(map(_is_async, walk(condition))):
        raise UnsupportedError(
            f"join(how={how!r}) calls an asynchronous function in its condition: compute its value with with_column() "
            "before the join"
        )
    if condition is None or how != "inner":
        return Join(left, right, kind, how, len(keys), lower_ms, upper_ms, condition, ttl_ms)
    return Filter(Join(left, right, kind, how, len(keys), lower_ms, upper_ms, None, ttl_ms), condition)


def _is_async(expression: Typed) -> bool:
    return isinstance(expression, Apply) and isinstance(expression.kernel, AsyncKernel)


def _pair(inputs: JoinInputs, part: Typed) -> tuple[Typed, Typed] | None:
    """Return the left and the right expression that a condition compares for equality; None for another condition."""
    if not isinstance(part, Apply) or part.function != "equals":
        return None
    one, other = part.arguments
    for left, right in ((one, other), (other, one)):
        own, theirs = fields_of(left), fields_of(right)
        if own and theirs and max(own) < inputs.split <= min(theirs):
            return left, moved(right, {place: place - inputs.split for place in theirs})
    return None


# --- windows


def _window(inputs: JoinInputs, parts: Iterable[Typed]) -> tuple[Typed, Typed] | None:
    """Return the times of both windows if conditions say that their starts and ends are equal."""
    left_marks, right_marks = marks(inputs.left), marks(inputs.right)
    found: dict[Mark, tuple[Typed, Typed]] = {}
    for part in parts:
        match _pair(inputs, part):
            case (Field() as left, Field() as right):
                mark = left_marks[left.index]
                if mark is not None and mark is right_marks[right.index]:
                    found.setdefault(mark, (left, right))
    ends = found.get(Mark.WINDOW_END) or found.get(Mark.WINDOW_END_IN_ZONE)
    if Mark.WINDOW_START not in found or ends is None:
        return None
    is_point = Mark.WINDOW_END_IN_ZONE in found
    kind = (types.timestamp_ltz(3) if is_point else types.timestamp(3)).nulls(nullable=False)
    one, other = (rule_of("window_time")(CallSite("window_time", (end,), (kind,), inputs.zone)) for end in ends)
    return one, other


# --- intervals


def _interval(inputs: JoinInputs, parts: Iterable[Typed]) -> tuple[Bounds, list[Typed]] | None:
    """Return the bounds of two event times, and the conditions they follow from; None without a lower or an upper."""
    found: Bounds | None = None
    used = []
    for part in parts:
        more = _bounds(inputs, part)
        if more is None:
            continue
        if found is None:
            found = more
        elif (found.left, found.right) == (more.left, more.right):
            lower_ms = _of_both(max, found.lower_ms, more.lower_ms)
            found = Bounds(found.left, found.right, lower_ms, _of_both(min, found.upper_ms, more.upper_ms))
        else:
            continue
        used.append(part)
    return None if found is None or found.lower_ms is None or found.upper_ms is None else (found, used)


def _of_both(choose: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other)


_SWAPPED: Final = {
    "equals": "equals",
    "less": "greater",
    "less_or_equal": "greater_or_equal",
    "greater": "less",
    "greater_or_equal": "less_or_equal",
}
_OF_BETWEEN: Final = {("low",): "greater_or_equal", ("high",): "less_or_equal"}


def _bounds(inputs: JoinInputs, part: Typed) -> Bounds | None:
    """Return what a condition says of two event times; None for another condition."""
    if not isinstance(part, Apply) or len(part.arguments) != 2:
        return None
    compared = _OF_BETWEEN.get(part.options, "") if part.function == "between" else part.function
    one, other = (_time(inputs, own) for own in part.arguments)
    if compared not in _SWAPPED or one is None or other is None or one.is_left == other.is_left:
        return None
    left, right = (one, other) if one.is_left else (other, one)
    apart_ms = left.plus_ms - right.plus_ms
    of_left = compared if one.is_left else _SWAPPED[compared]
    lower_ms = {"equals": apart_ms, "less_or_equal": apart_ms, "less": apart_ms + 1}.get(of_left)
    upper_ms = {"equals": apart_ms, "greater_or_equal": apart_ms, "greater": apart_ms - 1}.get(of_left)
    return Bounds(left.place, right.place, lower_ms, upper_ms)


@final
@dataclass(frozen=True, slots=True)
class _Time:
    """An event time, the column at a place of its input, plus a number of milliseconds."""

    is_left: bool
    place: int
    plus_ms: int = 0


def _time(inputs: JoinInputs, expression: Typed) -> _Time | None:
    match expression:
        case Field(index=index):
            is_left = index < inputs.split
            place = index if is_left else index - inputs.split
            mark = marks(inputs.left if is_left else inputs.right)[place]
            return _Time(is_left, place) if mark is not None and mark.is_time else None
        case Apply(function="coerce", arguments=(inner,)):
            return _time(inputs, inner)
        case Apply(function="plus" | "minus" as function, arguments=(inner, Constant() as length)):
            found, by_ms = _time(inputs, inner), _millis(length)
            if found is None or by_ms is None:
                return None
            return replace(found, plus_ms=found.plus_ms + (by_ms if function == "plus" else -by_ms))
        case Apply(function="plus", arguments=(Constant() as length, inner)):
            found, by_ms = _time(inputs, inner), _millis(length)
            return None if found is None or by_ms is None else replace(found, plus_ms=found.plus_ms + by_ms)
    return None


def _millis(length: Constant) -> int | None:
    """Return an interval in milliseconds; None for NULL, months, and lengths that are not whole milliseconds."""
    if length.type.kind is not Kind.DAY_INTERVAL:
        return None
    try:
        found: int | None = length.value.cast(pa.duration("ms")).cast(pa.int64()).as_py()
    except pa.ArrowInvalid:
        return None
    return found
