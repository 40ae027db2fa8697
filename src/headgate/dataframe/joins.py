"""The methods of a DataFrame that join it with another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Self

from headgate.columns.functions.registry import CallSite, rule_of
from headgate.columns.nodes import Column, Node, walk
from headgate.columns.resolve import ExpressionScope
from headgate.columns.schema import Schema, nearest
from headgate.columns.typed import Field, Typed, fields_of, moved
from headgate.dataframe.frame import Frame
from headgate.dataframe.planner.joins import JoinInputs, as_of, chosen, equality
from headgate.dataframe.planner.logical import Project, Relation
from headgate.dataframe.planner.marks import Mark, marks
from headgate.errors import InvalidExpressionError
from headgate.options import STATE_TTL
from headgate.table.expression import Expression

HOWS: Final = ("inner", "left", "right", "full", "outer", "semi", "anti", "cross")

Keys = str | list[str] | Expression
"""A column that both DataFrames have, several, or a condition."""


class Joins(Frame):
    """Rows of two DataFrames."""

    __slots__ = ()

    def join(
        self,
        other: Frame,
        *,
        on: Keys | None = None,
        how: str = "inner",
        left_on: Keys | None = None,
        right_on: Keys | None = None,
    ) -> Self:
        """Return the pairs of rows of this DataFrame, the left one, and of another, the right one, that match.

        Rows match if columns of the names `on` are equal, if `left_on` of the left row equals `right_on` of the right
        row, or if `on`, an expression of the columns of both, is true. NULL equals nothing, not even NULL. A name that
        both sides have is once in the result if it is a key, and not allowed otherwise. `how` is "inner"; "left",
        "right" or "full" (also "outer"), which add rows without a match; "semi" or "anti", which return only left
        rows, with a match or without; or "cross", which returns all pairs.

        The condition decides how long rows are kept:

        - Equal `window_start` and `window_end` of both sides: until the window ends, a *window join*.
        - One event time bounded from both ends by the other: until the bound has passed, an *interval join*.
        - Otherwise for ever, or for `table.exec.state.ttl` after the arrival of a row. Only "inner" and "cross" are
          supported then: the results of others change with later rows.

        Raises TypeError for arguments of other types, ValueError for an unknown column, a name that is on both sides,
        or keys without a common type, UnsupportedError for a join whose results change.

        >>> from headgate import dataframe as pf
        >>> orders = pf.from_records([{"order": 1, "item": "tea"}, {"order": 2, "item": None}])
        >>> prices = pf.from_records([{"item": "tea", "price": 3.0}, {"item": None, "price": 9.0}])
        >>> orders.join(prices, on="item").collect()
        [Row(order=1, item='tea', price=3.0)]
        """
        self._check_other("join", other)
        if not isinstance(how, str):
            raise TypeError(f"how is a str, not {how!r}")
        if how not in HOWS:
            raise ValueError(f"how is one of {', '.join(map(repr, HOWS))}, not {how!r}")
        how = "full" if how == "outer" else how
        if how == "cross":
            if any(given is not None for given in (on, left_on, right_on)):
                raise ValueError("join(how='cross') takes no keys: use how='inner'")
            return self._joined(other, [], how, [])
        if isinstance(on, Expression):
            _check_alone(left_on, right_on)
            return self._joined(other, [], how, [self._condition(other, on.node, how)])
        pairs = self._pairs("join", other, on, left_on, right_on)
        return self._joined(other, pairs, how, [])

    def join_asof(  # noqa: PLR0913  # as in PyFlink
        self,
        other: Frame,
        *,
        how: str = "inner",
        on: str | Expression,
        by: str | list[str] | None = None,
        left_by: Keys | None = None,
        right_by: Keys | None = None,
    ) -> Self:
        """Return each row with the latest row of another DataFrame with equal keys that is not later.

        `on` is the column of this DataFrame's event time. The other one is a history of values: a row holds for its
        keys from its event time until the next row. The keys are given as in `join`. `how` "left" keeps rows without
        a match. A result is emitted when the watermark has reached its event time.

        Raises TypeError for arguments of other types, ValueError for an unknown column, a name that is on both sides,
        or a DataFrame without event time.

        >>> from datetime import datetime
        >>> from headgate import dataframe as pf
        >>> noon, one, two = (datetime(2024, 1, 1, hour) for hour in (12, 13, 14))
        >>> orders = pf.from_records([{"at": one, "coin": "eur"}]).with_watermark("at")
        >>> rates = pf.from_dict({"since": [noon, two], "coin": ["eur"] * 2, "rate": [1.1, 1.2]})
        >>> found = orders.join_asof(rates.with_watermark("since"), on="at", by="coin")
        >>> [row.rate for row in found.collect()]
        [1.1]
        """
        self._check_other("join_asof", other)
        if not isinstance(how, str):
            raise TypeError(f"how is a str, not {how!r}")
        if how not in ("inner", "left"):
            raise ValueError(f"how of join_asof() is 'inner' or 'left', not {how!r}")
        times = self._event_time(on), _only_time(other)
        pairs = self._pairs("join_asof", other, by, left_by, right_by)
        return self._joined(other, pairs, how, [], times)

    # --- arguments

    def _check_other(self, method: str, other: object) -> None:
        if not isinstance(other, Frame):
            raise TypeError(f"{method}() takes a DataFrame, not {other!r:.100}")
        if other._environment is not self._environment:
            raise ValueError(f"{method}() takes a DataFrame of the same environment")

    def _condition(self, other: Frame, node: Node, how: str) -> Typed:
        """Return a condition on the columns of both sides."""
        both = set(self.columns) & set(other.columns)
        read = {inner.name for inner in walk(node) if isinstance(inner, Column)}
        unclear = sorted(both if how not in ("semi", "anti") else both & read)
        if unclear:
            raise InvalidExpressionError(f"join(): both sides have a column {unclear[0]!r}: rename one of them")
        right = [(name, own) for name, own in other.schema if name not in both]
        hidden = [(f"{name} of the other", own) for name, own in other.schema if name in both]
        scope = ExpressionScope(Schema([*self.schema, *right, *hidden]), self._scope.zone)
        try:
            typed = scope.predicate(node)
        except InvalidExpressionError as error:
            raise InvalidExpressionError(f"join(): {error}") from None
        split = len(self.schema)
        places = {place: split + other.schema.index(name) for place, (name, _) in enumerate(right, split)}
        return moved(typed, {place: places.get(place, place) for place in fields_of(typed)})

    def _pairs(self, method: str, other: Frame, on: Any, left_on: Any, right_on: Any) -> list[tuple[Node, Node]]:
        """Return the left and the right expression of each key."""
        if on is not None:
            _check_alone(left_on, right_on)
            left_on = right_on = on
        if left_on is None or right_on is None:
            raise ValueError(f"{method}() takes the keys of both sides: names that both have, or a pair of arguments")
        left, right = _key_nodes(method, left_on, self), _key_nodes(method, right_on, other)
        if len(left) != len(right):
            raise ValueError(f"{method}() takes equally many keys of both sides, not {len(left)} and {len(right)}")
        return list(zip(left, right, strict=True))

    def _event_time(self, on: Any) -> int:
        name = on.node.name if isinstance(on, Expression) and isinstance(on.node, Column) else on
        if not isinstance(name, str):
            raise TypeError(f"on of join_asof() is a column of event time, not {on!r:.100}")
        place = self.schema.index(name)
        mark = marks(self._plan)[place]
        if mark is None or not mark.is_time:
            raise ValueError(f"on of join_asof() is a column of event time, and {name!r} is none: use with_watermark()")
        return place

    # --- the plan

    def _joined(
        self,
        other: Frame,
        pairs: Sequence[tuple[Node, Node]],
        how: str,
        conditions: Sequence[Typed],
        times: tuple[int, int] | None = None,
    ) -> Self:
        shared = {left.name for left, right in pairs if isinstance(left, Column) and left == right}
        if how not in ("semi", "anti"):
            for name in other.columns:
                if name in self.schema and name not in shared:
                    raise InvalidExpressionError(
                        f"both sides of the join have a column {name!r}, which is no key: rename one of them"
                    )
        zone, split = self._scope.zone, len(self.schema)
        ttl_ms = self._environment.get_config().get_configuration().read(STATE_TTL)
        inputs = JoinInputs(self._plan, other._plan, zone, ttl_ms)
        typed = []
        for left, right in pairs:
            own, theirs = self._typed(left, "join()"), other._typed(right, "join()")
            typed.append((own, moved(theirs, {place: place + split for place in fields_of(theirs)})))
        if times is None:
            plan = chosen(inputs, how, [*(equality(own, theirs, zone) for own, theirs in typed), *conditions])
        else:
            plan = as_of(inputs, how, typed, times)
        return self._with(Project(plan, tuple(self._outputs(other, plan, shared, how))))

    def _outputs(self, other: Frame, plan: Relation, shared: set[str], how: str) -> list[tuple[str, Typed]]:
        """Return the left columns, then the right columns but shared keys."""
        own = [Field(place, kind) for place, kind in enumerate(plan.schema.types)]
        split = len(self.schema)
        outputs: list[tuple[str, Typed]] = []
        for name, field in zip(self.columns, own, strict=False):
            if name in shared and how in ("right", "full"):
                theirs = own[split + other.schema.index(name)]
                made: Typed = theirs
                if how == "full":
                    made = rule_of("coalesce")(CallSite("coalesce", (field, theirs), (), self._scope.zone))
                outputs.append((name, made))
            else:
                outputs.append((name, field))
        if how not in ("semi", "anti"):
            right = zip(other.columns, own[split:], strict=True)
            outputs += [(name, field) for name, field in right if name not in shared]
        return outputs


def _check_alone(left_on: object, right_on: object) -> None:
    if left_on is not None or right_on is not None:
        raise ValueError("keys are given once: by names that both sides have, or for each side, not both")


def _key_nodes(method: str, given: Any, frame: Frame) -> list[Node]:
    if isinstance(given, Expression):
        return [given.node]
    names = given if isinstance(given, list) else [given]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"a key of {method}() is a name, a list of names, or an expression, not {given!r:.100}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"the keys of {method}() are different names, at least one, not {given!r:.100}")
    for name in names:
        if name not in frame.schema:
            raise ValueError(f"{method}(): there is no column {name!r}{nearest(name, frame.columns)}")
    return [Column(name) for name in names]


def _only_time(frame: Frame) -> int:
    """Return the position of a DataFrame's event time: the time of its windows if it has these."""
    found = marks(frame._plan)
    times = [place for place, mark in enumerate(found) if mark is Mark.WINDOW_TIME]
    times = times or [place for place, mark in enumerate(found) if mark is Mark.EVENT_TIME]
    if len(times) != 1:
        what = "has no event time: use with_watermark()" if not times else "has several event times: drop all but one"
        raise ValueError(f"the other side of join_asof() {what}")
    return times[0]
