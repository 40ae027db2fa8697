"""Sizes, counts, gaps and triggers that are none are refused when the program is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.common import Time
from headgate.datastream.window import (
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    PurgingTrigger,
    TimeEvictor,
    TumblingEventTimeWindows,
)
from headgate.errors import ProgramError


def _any(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CountTumblingWindowAssigner.of(_any(2.0)), r"as whole numbers, not 2.0"),
        (lambda: CountSlidingWindowAssigner.of(2, _any("2")), r"as whole numbers, not 2 and '2'"),
        (lambda: TumblingEventTimeWindows(_any(1000.5), 0), r"as whole numbers, not 1000.5"),
        (lambda: TumblingEventTimeWindows(_any(None), 0), r"as whole numbers, not None"),
        (lambda: TumblingEventTimeWindows(10, _any(0.5)), r"an offset of whole ms"),
        (lambda: EventTimeSessionWindows(_any("5")), r"as a whole number, not '5'"),
        (lambda: EventTimeSessionWindows.with_dynamic_gap(_any(len)), r"a SessionWindowTimeGapExtractor, not"),
        (lambda: CountTrigger(_any(1.5)), r"a count of at least 1, as a whole number, not 1.5"),
        (lambda: PurgingTrigger.of(_any(None)), r"to wrap, not None"),
        (lambda: CountEvictor.of(_any(True)), r"at least 0 records, as a whole number, not True"),
        (lambda: TimeEvictor.of(Time.milliseconds(-1)), r"records of at least 0 ms, as a whole number, not -1"),
    ],
)
def test_what_is_no_size_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        build()
