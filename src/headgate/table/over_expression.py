"""Aggregates over the rows around each row."""

from __future__ import annotations

from typing import Any, Self

from headgate.columns.frames import frame_of
from headgate.columns.nodes import Column, Node, Over
from headgate.columns.operand import Operand
from headgate.errors import UnsupportedError


class OverExpression(Operand):
    """Aggregates that keep each row."""

    __slots__ = ()

    def over(
        self,
        *window_alias: Any,
        order_by: Any = None,
        partition_by: Any = None,
        rows: Any = None,
        range: Any = None,  # PyFlink's name
    ) -> Self:
        """Return the aggregate, for each row, of the rows in its frame: rows with equal keys, in the order of a time.

        `order_by` is a name or an expression, in streaming mode a column of event time. `partition_by` is a name, an
        expression or a list of them; without it, one subtask computes all rows. The frame is all rows so far and the
        rows of equal time, or:

        - `rows`: a number n, for the row and the n rows before it; `UNBOUNDED`; or a pair of bounds, made by
          `preceding(n)`, `following(n)`, `CURRENT_ROW` and `UNBOUNDED`.
        - `range`: the same with a length of time, a `timedelta` or a text such as "5 min". Such a frame contains all
          rows of the current row's time.

        Raises TypeError and ValueError for other arguments, and UnsupportedError for the alias of a window.

        >>> from headgate.dataframe import CURRENT_ROW, UNBOUNDED, col
        >>> col("price").sum.over(order_by="at", partition_by="item", rows=2)
        sum(price) OVER (PARTITION BY item ORDER BY at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)
        """
        if window_alias:
            raise UnsupportedError(
                "over() takes the window itself, not its alias: over(order_by=..., partition_by=..., rows=...)"
            )
        if order_by is None:
            raise TypeError("over() needs order_by, the column of event time")
        if partition_by is not None and isinstance(partition_by, list | tuple) and not partition_by:
            raise ValueError("partition_by of over() is empty: leave it out for one partition of all rows")
        keys = partition_by if isinstance(partition_by, list | tuple) else [partition_by]
        nodes = tuple(_node(key, "partition_by") for key in keys if key is not None)
        return type(self)(Over(self.node, _node(order_by, "order_by"), nodes, frame_of(rows, range)))


def _node(given: Any, name: str) -> Node:
    if isinstance(given, str):
        return Column(given)
    if not isinstance(given, Operand):
        raise TypeError(f"{name} of over() takes names of columns and expressions, not {given!r:.100}")
    return given.node
