"""The methods of a DataFrame that combine its rows with the rows of another one, column by column."""

from __future__ import annotations

from typing import Self

from headgate.columns.casting import coerced
from headgate.columns.logical_types import widest
from headgate.columns.nodes import literal
from headgate.dataframe.frame import Frame
from headgate.dataframe.planner.logical import Distinct, Project, SetOperation, UnionAll
from headgate.errors import UnsupportedError
from headgate.options import RUNTIME_MODE


class Sets(Frame):
    """Unions, intersections and differences. Columns are matched by position, and have the names of the first."""

    __slots__ = ()

    def union_all(self, other: Self) -> Self:
        """Return the rows of both DataFrames. Columns are matched by position, and have the names of this one.

        Types are converted to the common type of both columns. Raises TypeError for another object, ValueError for
        another number of columns, types without a common type, or another environment.
        """
        return self._with(UnionAll(tuple(frame._plan for frame in self._both("union_all", other))))

    def union(self, other: Self) -> Self:
        """Return the different rows of both DataFrames, each once. NULL equals NULL. Raises as `union_all`.

        >>> from headgate import dataframe as pf
        >>> sorted(row.id for row in pf.range(3).union(pf.range(2, 5)).collect())
        [0, 1, 2, 3, 4]
        """
        self._check_comparable("union")
        united = UnionAll(tuple(frame._plan for frame in self._both("union", other)))
        return self._with(Distinct(united, tuple(range(len(self.schema)))))

    def intersect(self, other: Self) -> Self:
        """Return the rows that both DataFrames have, each once. NULL equals NULL.

        Raises as `union_all`, and UnsupportedError unless `execution.runtime-mode` is BATCH.
        """
        return self._remaining("intersect", other)

    def intersect_all(self, other: Self) -> Self:
        """Return the rows that both DataFrames have, as often as they are in both. Raises as `intersect`."""
        return self._remaining("intersect_all", other)

    def minus(self, other: Self) -> Self:
        """Return the rows that the other DataFrame does not have, each once. Raises as `intersect`."""
        return self._remaining("minus", other)

    def minus_all(self, other: Self) -> Self:
        """Return each row as often as it is more often here than in the other DataFrame. Raises as `intersect`."""
        return self._remaining("minus_all", other)

    def _remaining(self, how: str, other: Self) -> Self:
        if self._environment.get_config().get_configuration().read(RUNTIME_MODE) != "BATCH":
            raise UnsupportedError(
                f"{how}() needs all rows of both sides: set execution.runtime-mode to BATCH, or use join() with "
                "bounds on event time"
            )
        self._check_comparable(how)
        left, right = self._both(how, other)
        name = "".join(["is right", *self.columns])  # which no column has
        sides = (
            Project(frame._plan, (*frame._all(), (name, frame._typed(literal(value=is_right), how))))
            for frame, is_right in ((left, False), (right, True))
        )
        return self._with(SetOperation(UnionAll(tuple(sides)), how))

    def _check_comparable(self, method: str) -> None:
        for name, own in self.schema:
            if own.fields:
                raise ValueError(f"{method}(): {name!r} is a {own}, which cannot be compared: use a field of it")

    def _both(self, method: str, other: object) -> tuple[Frame, Frame]:
        """Return both DataFrames with the common type of each pair of columns."""
        if not isinstance(other, Frame):
            raise TypeError(f"{method}() takes a DataFrame, not {other!r:.100}")
        if other._environment is not self._environment:
            raise ValueError(f"{method}() takes a DataFrame of the same environment")
        if len(other.schema) != len(self.schema):
            raise ValueError(f"{method}() takes equally many columns, not {len(self.schema)} and {len(other.schema)}")
        return _widened(method, self, other), _widened(method, other, self)


def _widened(method: str, frame: Frame, beside: Frame) -> Frame:
    outputs = []
    for (name, own), theirs in zip(frame._all(), beside.schema.types, strict=True):
        common = widest([own.type, theirs])
        made = None if common is None else coerced(own, common.nulls(own.type.nullable))
        if made is None:
            raise ValueError(f"{method}(): column {name!r} is {own.type}, but {theirs} in the other DataFrame")
        outputs.append((name, made))
    same = all(own is made for (_, own), (_, made) in zip(frame._all(), outputs, strict=True))
    return frame if same else frame._projected(outputs)
