"""The method of a DataFrame that sorts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from headgate.columns.nodes import SortKey
from headgate.dataframe.frame import Columns, Frame, node_of_column
from headgate.dataframe.planner.marks import is_time
from headgate.dataframe.planner.ordered import Sort, SortBy
from headgate.errors import InvalidExpressionError, UnsupportedError
from headgate.options import RUNTIME_MODE


class Ordering(Frame):
    """The order of rows."""

    __slots__ = ()

    def sort(
        self,
        by: Columns | list[Columns],
        *,
        descending: bool | Sequence[bool] = False,
        nulls_first: bool | Sequence[bool] | None = None,
    ) -> Self:
        """Return all rows in an order: by a column or an expression, or by several in turn.

        In streaming mode, the first of them is a column of event time, ascending: rows are emitted when the watermark
        passes their time, and rows that come later are counted and dropped. In batch mode, rows are sorted by anything.
        One subtask sorts all rows. Projections, filters and sinks after it also run in one subtask, so that the order
        stays; aggregates and functions of batches may change it.

        `descending` and `nulls_first` are for all keys, or have a value for each. By default, NULL is last in ascending
        order and first in descending order. Raises TypeError and ValueError for other arguments, and UnsupportedError
        for an order that a stream cannot have.

        >>> from datetime import datetime
        >>> from headgate import dataframe as pf
        >>> at = [datetime(2024, 1, day) for day in (2, 1, 3)]
        >>> timed = pf.from_dict({"at": at, "n": [2, 1, 3]}, watermark=("at", "at - INTERVAL '9' DAY"))
        >>> [row.n for row in timed.sort("at").collect()]
        [1, 2, 3]
        """
        given = by if isinstance(by, list) else [by]
        if not given:
            raise ValueError("sort() takes at least one column")
        nodes = [node_of_column(own, "sort") for own in given]
        if any(isinstance(node, SortKey) for node in nodes):
            raise ValueError("sort() takes columns without asc and desc: use descending=")
        down = _flags("descending", descending, len(nodes))
        first = down if nulls_first is None else _flags("nulls_first", nulls_first, len(nodes))
        keys = tuple(
            SortBy(self._typed(node, "sort()"), *flags) for node, *flags in zip(nodes, down, first, strict=True)
        )
        for key in keys:
            if key.value.type.fields:
                raise InvalidExpressionError(f"sort(): a {key.value.type} has no order: use a field of it")
        return self._with(Sort(self._plan, keys, self._is_timed(keys[0])))

    def _is_timed(self, first: SortBy) -> bool:
        if self._environment.get_config().get_configuration().read(RUNTIME_MODE) == "BATCH":
            return False
        if first.descending or not is_time(first.value, self._plan):
            raise UnsupportedError(
                "a stream is sorted by a column of event time first, ascending: make it with the watermark of the "
                "source, or with_watermark(). With execution.runtime-mode BATCH, sort() takes any column"
            )
        return True


def _flags(name: str, given: Any, count: int) -> list[bool]:
    if isinstance(given, bool):
        return [given] * count
    if not isinstance(given, list | tuple) or not all(isinstance(own, bool) for own in given):
        raise TypeError(f"{name} is true or false, or a list of these, not {given!r}")
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} values for {count} columns")
    return list(given)
