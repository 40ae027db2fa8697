"""As-of joins: each record of one stream is joined with the record of another that is nearest in event time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

from headgate.datastream.checks import check_choice, check_process_function, check_tag
from headgate.errors import ProgramError
from headgate.functions.joins import ProcessJoinFunction
from headgate.functions.windows.assigner import millis_of
from headgate.operators.joins.asof import AsOf, AsOfJoinFactory, Nearest
from headgate.types.instant import Duration, Time
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream, KeyedStream

_DIRECTIONS: Final = {"backward": (True, False), "forward": (False, True), "nearest": (True, True)}
"""For each direction: whether to look for earlier records, and whether to look for later records."""
_OUTER: Final = {"inner": False, "left": True}


@final
@dataclass(frozen=True, slots=True)
class AsOfJoined:
    """Two keyed streams and how to join them. Made by `join_asof` and `join_latest`; `process` makes a stream."""

    _left: KeyedStream
    _right: KeyedStream
    _asof: AsOf

    def side_output_left_late_data(self, output_tag: OutputTag) -> AsOfJoined:
        """Send late records of the left stream to a side output, instead of dropping them."""
        check_tag("side_output_left_late_data", output_tag)
        return self._with(late_tags=(output_tag, self._asof.late_tags[1]))

    def side_output_right_late_data(self, output_tag: OutputTag) -> AsOfJoined:
        """Send late records of the right stream to a side output, instead of dropping them."""
        check_tag("side_output_right_late_data", output_tag)
        return self._with(late_tags=(self._asof.late_tags[0], output_tag))

    def process(self, func: ProcessJoinFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Call a function with each left record and the right record joined to it.

        With `how="left"` the right record is None where none matches. The timestamp of a result is the event time from
        which no nearer right record can arrive.
        """
        check_process_function(func, ProcessJoinFunction)
        return self._left._then_with(self._right, "As-of Join", AsOfJoinFactory(func, self._asof), output_type)

    def _with(self, **changes: Any) -> AsOfJoined:
        return replace(self, _asof=replace(self._asof, **changes))


def nearest_in_time(direction: str, tolerance: Time | Duration | None, exact: bool, how: str) -> AsOf:
    """Check the arguments of `join_asof`, and return the join they describe.

    Raises ProgramError for a wrong argument.
    """
    check_choice("join_asof", "direction", direction, _DIRECTIONS)
    before, behind = _DIRECTIONS[direction]
    nearest = Nearest(before, behind, exact=bool(exact))
    if tolerance is not None:
        nearest = replace(nearest, tolerance_ms=_length("join_asof", "tolerance", tolerance))
    return AsOf(name="join_asof", nearest=nearest, outer=_outer("join_asof", how))


def latest_value(grace: Time | Duration | None, how: str, is_deletion: Callable[[Any], Any] | None) -> AsOf:
    """Check the arguments of `join_latest`, and return the join they describe.

    Raises ProgramError for a wrong argument.
    """
    if is_deletion is not None and not callable(is_deletion):
        raise ProgramError(f"join_latest() takes as is_deletion a function of a right record, not {is_deletion!r}")
    return AsOf(
        name="join_latest",
        nearest=Nearest(),
        outer=_outer("join_latest", how),
        grace_ms=0 if grace is None else _length("join_latest", "grace", grace),
        is_deletion=is_deletion,
    )


def _outer(method: str, how: str) -> bool:
    check_choice(method, "how", how, _OUTER)
    return _OUTER[how]


def _length(method: str, argument: str, length: Time | Duration) -> int:
    length_ms = millis_of(f"the {argument} of {method}()", length)
    if length_ms < 0:
        raise ProgramError(f"{method}() takes a {argument} of 0 ms or more, not {length_ms} ms")
    return length_ms
