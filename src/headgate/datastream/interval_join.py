"""Interval joins: pairs of records of two keyed streams whose timestamps are close to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from headgate.datastream.checks import check_choice, check_process_function, check_tag
from headgate.errors import ProgramError
from headgate.functions.joins import ProcessJoinFunction
from headgate.functions.windows.assigner import millis_of
from headgate.operators.joins.interval import IntervalJoinFactory, JoinSide
from headgate.types.instant import Duration, Time
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream, KeyedStream

_OUTER: Final = {"inner": (False, False), "left": (True, False), "right": (False, True), "full": (True, True)}
"""For each join type: whether unmatched records of the left and of the right stream are emitted."""


@final
class IntervalJoin:
    """Two keyed streams to join; `between` sets how close their timestamps must be. Made by `interval_join`."""

    def __init__(self, left: KeyedStream, right: KeyedStream, how: str) -> None:
        check_choice("interval_join", "how", how, _OUTER)
        self._left = left
        self._right = right
        self._how = how

    def between(self, lower_bound: Time | Duration, upper_bound: Time | Duration) -> IntervalJoined:
        """Join each left record with the right records from `lower_bound` to `upper_bound` after it, both included.

        A negative bound means before the left record. Raises ProgramError if the lower bound is above the upper.
        """
        lower_ms, upper_ms = millis_of("the lower bound", lower_bound), millis_of("the upper bound", upper_bound)
        if lower_ms > upper_ms:
            raise ProgramError(
                f"an interval from {lower_ms} to {upper_ms} ms is empty: between() takes the lower bound first"
            )
        return IntervalJoined(self._left, self._right, self._how, lower_ms, upper_ms)


@final
class IntervalJoined:
    """Two keyed streams and the interval of the join. `process` makes a stream of the pairs."""

    def __init__(self, left: KeyedStream, right: KeyedStream, how: str, lower_ms: int, upper_ms: int) -> None:
        self._left = left
        self._right = right
        self._how = how
        self._lower_ms = lower_ms
        self._upper_ms = upper_ms
        self._excludes_lower = False
        self._excludes_upper = False
        self._late_tags: list[OutputTag | None] = [None, None]

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Exclude the lower bound itself, which is included by default."""
        self._excludes_lower = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Exclude the upper bound itself, which is included by default."""
        self._excludes_upper = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Send late records of the left stream to a side output, instead of dropping them."""
        check_tag("side_output_left_late_data", output_tag)
        self._late_tags[0] = output_tag
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Send late records of the right stream to a side output, instead of dropping them."""
        check_tag("side_output_right_late_data", output_tag)
        self._late_tags[1] = output_tag
        return self

    def process(self, func: ProcessJoinFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Call a function for each pair, and in outer joins for each unmatched record, with None as its partner.

        The timestamp of a pair's results is the later timestamp of the two records. The timestamp of an unmatched
        record's results is the end of the record's interval.
        """
        check_process_function(func, ProcessJoinFunction)
        lower_ms, upper_ms = self._lower_ms + self._excludes_lower, self._upper_ms - self._excludes_upper
        if lower_ms > upper_ms:
            raise ProgramError(
                f"the interval between {self._lower_ms} and {self._upper_ms} ms is empty without the bounds that it "
                "excludes: include one"
            )
        outer_left, outer_right = _OUTER[self._how]
        left = JoinSide(lower_ms, upper_ms, outer_left, self._late_tags[0])
        right = JoinSide(-upper_ms, -lower_ms, outer_right, self._late_tags[1])
        return self._left._then_with(self._right, "Interval Join", IntervalJoinFactory(func, left, right), output_type)
