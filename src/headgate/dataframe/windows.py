"""The methods of a DataFrame that make event time, and assign windows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Self

from headgate.columns import logical_types as types
from headgate.columns.logical_types import Kind, LogicalType
from headgate.columns.nodes import Call, Cast, Column, Node
from headgate.columns.typed import Constant
from headgate.dataframe.frame import Columns, Frame, node_of_column
from headgate.dataframe.grouping import SessionOf
from headgate.dataframe.planner.logical import EventTime, Expand
from headgate.dataframe.planner.marks import marks
from headgate.table.expression import Expression

Length = timedelta | Expression

START, END, TIME = "window_start", "window_end", "window_time"


class Windows(Frame):
    """Event time and windows. A window method adds the columns `window_start`, `window_end` and `window_time`.

    Start and end are local times, TIMESTAMP(3). `window_time` is the last millisecond of the window, an event time.
    Aggregate a window with `group_by("window_start", "window_end", ...)`: each result is emitted once, when the
    watermark passes the end of the window, and later rows of the window are dropped.
    """

    __slots__ = ()

    def with_watermark(self, column: str, delay: timedelta | str = timedelta(0)) -> Self:
        """Return the DataFrame with a column as its event time.

        The watermark stays behind the latest time by `delay`: a length of time, or SQL text as in a watermark
        declaration, such as "ts - INTERVAL '5' SECOND". The column becomes a TIMESTAMP(3) or TIMESTAMP_LTZ(3): finer
        values are floored. Raises ValueError for an unknown column, or one of another type, or a negative delay.
        """
        own = self.schema.type_of(column)
        if not own.is_time_attribute:
            raise ValueError(f"the event time {column!r} is a {own}, but must be a TIMESTAMP or TIMESTAMP_LTZ: cast it")
        delay_ms = _delay_ms(column, delay)
        place = self.schema.index(column)
        floored = LogicalType(own.kind, own.nullable, 3)
        outputs = self._all()
        if own != floored:
            outputs[place] = (column, self._typed(Cast(Column(column), floored), "with_watermark()"))
        timed = self._projected(outputs)
        return self._with(EventTime(timed._plan, place, delay_ms))

    def _with_time(self, watermark: object) -> Self:
        """Return the DataFrame with the event time that its maker was given, if any: a pair of column and SQL text.

        Raises TypeError for another value, and ValueError as `with_watermark` does.
        """
        if watermark is None:
            return self
        if not isinstance(watermark, tuple) or [type(own) for own in watermark] != [str, str]:
            example = '("ts", "ts - INTERVAL \'5\' SECOND")'
            raise TypeError(f"watermark is a pair of column and expression, such as {example}, not {watermark!r}")
        if not all(own.strip() for own in watermark):
            raise TypeError("column and expression of watermark must not be blank")
        return self.with_watermark(*watermark)

    def tumble(self, *, on: Columns, size: Length) -> Self:
        """Assign each row to the window of this size that contains it.

        Windows begin at multiples of the size since 1970, in the session's time zone.
        """
        length = self._millis("size", size)
        node = self._time(on, "tumble")
        return self._bounded(node, Call("tumble_start", (node,), (length,)), Call("tumble_end", (node,), (length,)))

    def hop(self, *, on: Columns, slide: Length, size: Length) -> Self:
        """Assign each row to all windows of this size that contain it. A window begins at each multiple of `slide`."""
        lengths = (self._millis("slide", slide), self._millis("size", size))
        node = self._time(on, "hop")
        expanded, start = self._expanded(Call("hop_starts", (node,), lengths))
        return expanded._bounded(node, start, Call(END, (start,), (lengths[1], False)))

    def cumulate(self, *, on: Columns, step: Length, size: Length) -> Self:
        """Assign each row to windows that begin together and end a `step` later each, up to `size`.

        Raises ValueError unless the size is a multiple of the step.
        """
        step_ms, size_ms = lengths = (self._millis("step", step), self._millis("size", size))
        if size_ms % step_ms:
            raise ValueError(f"the size of cumulate(), {size_ms} ms, is no multiple of the step, {step_ms} ms")
        node = self._time(on, "cumulate")
        expanded, end = self._expanded(Call("cumulate_ends", (node,), lengths))
        start = Call("tumble_start", (Call(START, (end,), (-1, False)),), (size_ms,))
        return expanded._bounded(node, start, end)

    def session(
        self, *, on: Columns, gap: Length, partition_by: Columns | Sequence[Columns] | None = None
    ) -> SessionOf[Self]:
        """Assign rows to sessions: windows of a key that end when no row has followed for `gap`.

        Each key of `partition_by` has its own sessions; without keys, all rows share them. The bounds of a session are
        known only when it has ended. So the only method of the result is `group_by`, which takes the window's columns
        and all keys of `partition_by`.
        """
        given = partition_by if isinstance(partition_by, list | tuple) else [partition_by]
        keys = tuple(node_of_column(key, "session") for key in given if key is not None)
        node = self._time(on, "session")
        gap_ms = self._millis("gap", gap)
        local = Call("tumble_start", (node,), (1,))
        framed = self._bounded(node, local, Call(END, (local,), (gap_ms, False)))
        return SessionOf(framed, keys, gap_ms)

    # --- how it is done

    def _time(self, on: Any, method: str) -> Node:
        node = node_of_column(on, method)
        place = self.schema.index(node.name) if isinstance(node, Column) else None
        mark = None if place is None else marks(self._plan)[place]
        if mark is None or not mark.is_time:
            raise TypeError(
                f"{method}() takes a column of event time, and {on!r} is none: make it with the watermark of the "
                "source, or with_watermark()"
            )
        return node

    def _millis(self, name: str, length: Any) -> int:
        if isinstance(length, Expression):
            own = self._typed(length.node, name)
            if not isinstance(own, Constant) or own.type.kind is not Kind.DAY_INTERVAL:
                raise TypeError(f"{name} is a timedelta or an interval such as pf.lit(10).minutes, not {length!r}")
            length = own.value.as_py()
        if not isinstance(length, timedelta):
            raise TypeError(f"{name} is a timedelta or an interval such as pf.lit(10).minutes, not {length!r}")
        millis = length // timedelta(milliseconds=1)
        if millis < 1:
            raise ValueError(f"{name} is at least a millisecond, not {length}")
        return millis

    def _expanded(self, windows: Call) -> tuple[Self, Column]:
        """Return a row for each window of each row, and the column of a bound of the window."""
        name = next(name for name in map("$".__mul__, itertools.count(1)) if name not in self.schema)
        listed = self._projected([*self._all(), (name, self._typed(windows, "windows"))])
        kind = types.timestamp(3).nulls(nullable=False)
        return self._with(Expand(listed._plan, (name,), (kind,), outer=False)), Column(name)

    def _bounded(self, time: Node, start: Node, end: Node) -> Self:
        """Return the columns, then the window's columns. Columns of the same names, and `_expanded`'s, are dropped."""
        assert isinstance(time, Column)
        own = self.schema.type_of(time.name).nulls(nullable=False)
        is_point = own.kind is Kind.TIMESTAMP_LTZ
        dropped = {START, END, TIME, *(own.name for own in (start, end) if isinstance(own, Column))}
        outputs = {name: column for name, column in self._all() if name not in dropped}
        outputs[START] = self._typed(Call(START, (start,), (0, is_point)), START)
        outputs[END] = self._typed(Call(END, (end,), (0, is_point)), END)
        outputs[TIME] = self._typed(Call(TIME, (end,), (own,)), TIME)
        return self._projected(outputs.items())


def _delay_ms(column: str, delay: timedelta | str) -> int:
    if isinstance(delay, str):
        from headgate.columns.sql_text import watermark_of_text  # noqa: PLC0415  # its parser takes long to load

        named, delay_ms = watermark_of_text(delay)
        if named != column:
            raise ValueError(f"the watermark of {column!r} refers to {named!r}")
        return delay_ms
    if not isinstance(delay, timedelta):
        raise TypeError(f"delay is a timedelta or SQL text, not {delay!r}")
    if delay < timedelta(0):
        raise ValueError(f"delay must not be negative, but is {delay}")
    return delay // timedelta(milliseconds=1)
