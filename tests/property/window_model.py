"""The model of windows: lists of records, searched from end to end, one window after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, final

BEFORE_ALL: Final = -(2**63)

Record = tuple[str, int, int]
"""A record of the tests: its key, its number and its timestamp."""
Result = tuple[str, int, int, tuple[int, ...]]
"""A result: key, start and end of the window, and the numbers of its records in order."""


@final
@dataclass
class Span:
    """A window of the model."""

    start: int
    end: int
    numbers: list[int] = field(default_factory=list)


@dataclass
class WindowModel:
    """Windows of event time with the default trigger; `spans_of` of a record says which windows it opens or enters."""

    lateness: int
    watermark: int = BEFORE_ALL
    late: list[int] = field(default_factory=list)
    spans: dict[str, list[Span]] = field(default_factory=dict)

    def add(self, record: Record) -> list[Result]:
        """Add a record; return what is emitted."""
        key, number, time = record
        emitted, entered = [], False
        for span in self.entered(self.spans.setdefault(key, []), record):
            if span.end - 1 + self.lateness <= self.watermark:
                self.spans[key].remove(span)
                continue
            entered = True
            span.numbers.append(number)
            if span.end - 1 <= self.watermark:
                emitted.append(_result(key, span))
        if not entered and time + self.lateness <= self.watermark:
            self.late.append(number)
        return emitted

    def entered(self, spans: list[Span], record: Record) -> list[Span]:
        """Return the windows of a key that a record is in, which are among `spans` then."""
        raise NotImplementedError

    def advance(self, watermark: int) -> list[Result]:
        """Move event time; return what is emitted."""
        before, self.watermark = self.watermark, max(self.watermark, watermark)
        emitted = []
        for key, spans in self.spans.items():
            emitted += [_result(key, span) for span in spans if before < span.end - 1 <= self.watermark]
            spans[:] = [span for span in spans if span.end - 1 + self.lateness > self.watermark]
        return emitted


@final
@dataclass
class SlidingModel(WindowModel):
    """Tumbling and sliding windows: all that a record is in by the definition, found by trying every start."""

    size: int = 1
    slide: int = 1
    offset: int = 0

    def entered(self, spans: list[Span], record: Record) -> list[Span]:
        time = record[2]
        starts = [start for start in range(time - self.size + 1, time + 1) if (start - self.offset) % self.slide == 0]
        for start in starts:
            if all(span.start != start for span in spans):
                spans.append(Span(start, start + self.size))
        return [span for span in spans if span.start in starts]


@final
@dataclass
class SessionModel(WindowModel):
    """Session windows: those that a record's own overlaps or touches become one."""

    gap_of: Callable[[Record], int] = lambda record: 1

    def entered(self, spans: list[Span], record: Record) -> list[Span]:
        time = record[2]
        joined = Span(time, time + self.gap_of(record))
        for span in [span for span in spans if span.start <= joined.end and joined.start <= span.end]:
            spans.remove(span)
            joined.start, joined.end = min(joined.start, span.start), max(joined.end, span.end)
            joined.numbers += span.numbers
        spans.append(joined)
        return [joined]


def _result(key: str, span: Span) -> Result:
    return key, span.start, span.end, tuple(span.numbers)


def by_window(results: list[Any], *, in_order: bool = False) -> list[Any]:
    """Return results in an order that does not depend on that of keys; records of each are `in_order`, or sorted."""
    return sorted(
        (key, start, end, tuple(numbers if in_order else sorted(numbers))) for key, start, end, numbers in results
    )
