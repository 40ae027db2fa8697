"""Frames of OVER: which rows around a row its aggregates take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, final

from headgate.config_kinds import DURATION_MS

Length = int | timedelta | str
"""A distance in a frame: a number of rows, or a length of time."""


@final
@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a frame: the current row, or a distance before it (-1) or after it (1). Length None: unbounded."""

    direction: int
    length: Length | None = None

    def __repr__(self) -> str:
        if not self.direction:
            return "CURRENT_ROW"
        if self.length is None:
            return "UNBOUNDED_PRECEDING" if self.direction < 0 else "UNBOUNDED_FOLLOWING"
        return f"{'preceding' if self.direction < 0 else 'following'}({self.length!r})"


@final
class Unbounded:
    """The bound without a limit: before the current row as a lower bound, after it as an upper bound."""

    def __repr__(self) -> str:
        return "UNBOUNDED"


UNBOUNDED: Final = Unbounded()
"""No limit: all rows before the current row, or as the upper bound of a pair, all rows after it."""
UNBOUNDED_PRECEDING: Final = Bound(-1)
"""From the first row on."""
UNBOUNDED_FOLLOWING: Final = Bound(1)
"""To the last row."""
CURRENT_ROW: Final = Bound(0)
"""The current row; in a frame of `range`, with all rows of equal time."""


def preceding(value: Length) -> Bound:
    """Return a bound of a frame before the current row: so many rows, or a length of time.

    Raises TypeError for another value, and ValueError for a number of rows below 1, or a negative length.

    >>> preceding(3), preceding("5 min")
    (preceding(3), preceding('5 min'))
    """
    return Bound(-1, _checked(value, "preceding"))


def following(value: Length) -> Bound:
    """Return a bound of a frame after the current row, as `preceding` does. For batch mode."""
    return Bound(1, _checked(value, "following"))


def _checked(value: Any, where: str) -> Length:
    if isinstance(value, bool) or not isinstance(value, int | timedelta | str):
        raise TypeError(f"{where} takes a number of rows, a timedelta or a text such as '5 min', not {value!r}")
    if isinstance(value, int):
        if value < 1:
            raise ValueError(f"{where} takes at least 1 row, not {value}")
    else:
        _millis(value, where)
    return value


def _millis(length: timedelta | str, where: str) -> int:
    try:
        made = DURATION_MS.parse(length) if isinstance(length, str) else length // timedelta(milliseconds=1)
    except ValueError:
        raise ValueError(f"{where} takes {DURATION_MS.expected}, such as '5 min', not {length!r}") from None
    if made < 0:
        raise ValueError(f"{where} takes no negative length, but got {length!r}")
    return made


@final
@dataclass(frozen=True, slots=True)
class RowFrame:
    """The rows from `lower` to `upper`, relative to the current row; None is unbounded.

    Distances are numbers of rows if `is_rows`, else milliseconds of the time by which the rows are ordered. Rows of
    equal time are all in a frame of time that contains one of them.
    """

    is_rows: bool
    lower: int | None
    upper: int | None

    def __str__(self) -> str:
        unit = "ROWS" if self.is_rows else "RANGE"
        return f"{unit} BETWEEN {self._text(self.lower, 'PRECEDING')} AND {self._text(self.upper, 'FOLLOWING')}"

    def _text(self, distance: int | None, unbounded: str) -> str:
        if distance is None:
            return f"UNBOUNDED {unbounded}"
        if not distance:
            return "CURRENT ROW"
        return f"{abs(distance)}{'' if self.is_rows else ' ms'} {'PRECEDING' if distance < 0 else 'FOLLOWING'}"


SO_FAR: Final = RowFrame(is_rows=False, lower=None, upper=0)
"""The frame of SQL without a frame: all rows up to the current row, and rows of equal time."""


def frame_of(rows: Any, range_: Any) -> RowFrame:
    """Return the frame that the arguments `rows` and `range` of `over` describe.

    Raises TypeError and ValueError as `Expression.over` does.
    """
    if rows is not None and range_ is not None:
        raise ValueError("over() takes rows or range, not both")
    if rows is not None:
        return _frame("rows", rows, is_rows=True)
    return SO_FAR if range_ is None else _frame("range", range_, is_rows=False)


def _frame(name: str, given: Any, *, is_rows: bool) -> RowFrame:
    if isinstance(given, tuple):
        if len(given) != _PAIR:
            raise TypeError(f"{name} is a pair of lower and upper bound, not {given!r}")
        lower, upper = (_bound(own, name, default) for own, default in zip(given, (-1, 1), strict=True))
    else:
        lower, upper = _lower(given, name), CURRENT_ROW
    frame = RowFrame(is_rows, _distance(lower, name, is_rows), _distance(upper, name, is_rows))
    if lower == UNBOUNDED_FOLLOWING or upper == UNBOUNDED_PRECEDING:
        raise ValueError(f"{name} cannot begin with {lower} and end with {upper}")
    if frame.lower is not None and frame.upper is not None and frame.lower > frame.upper:
        raise ValueError(f"{name} ends before it begins: {lower} is after {upper}")
    return frame


_PAIR: Final = 2


def _bound(given: Any, name: str, direction: int) -> Bound:
    if given is UNBOUNDED:
        return Bound(direction)
    if not isinstance(given, Bound):
        raise TypeError(f"{name} takes bounds such as preceding(3), CURRENT_ROW and UNBOUNDED, not {given!r}")
    return given


def _lower(given: Any, name: str) -> Bound:
    if given is UNBOUNDED or isinstance(given, Bound):
        bound = _bound(given, name, -1)
        if bound.direction > 0:
            raise ValueError(f"{name}={bound} needs a lower bound: give a pair, such as (CURRENT_ROW, {bound})")
        return bound
    return Bound(-1, _checked(given, name))


def _distance(bound: Bound, name: str, is_rows: bool) -> int | None:
    if not bound.direction:
        return 0
    if bound.length is None:
        return None
    if isinstance(bound.length, int) != is_rows:
        wanted = "numbers of rows" if is_rows else "lengths of time"
        raise ValueError(f"{name} takes {wanted}, but {bound} has {bound.length!r}")
    return bound.direction * (bound.length if isinstance(bound.length, int) else _millis(bound.length, name))
