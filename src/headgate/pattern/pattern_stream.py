"""Pattern streams: a stream, and the pattern to find in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, final

from headgate.datastream.checks import check_process_function, check_tag
from headgate.datastream.data_stream import DataStream, KeyedStream
from headgate.errors import ProgramError
from headgate.functions.context import TimeDomain
from headgate.functions.patterns.functions import Match, PatternProcessFunction
from headgate.functions.patterns.pattern import Pattern
from headgate.operators.patterns.operator import EventTimePatternFactory, ProcessingTimePatternFactory
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import TypeInformation


@final
class CEP:
    """The entry point of complex event processing: applies a pattern to a stream."""

    @staticmethod
    def pattern(stream: DataStream, pattern: Pattern) -> PatternStream:
        """Look for a pattern in the records of each key. Without keys, one subtask looks for it in all records.

        Raises ProgramError for an incomplete pattern, see `docs/guides/patterns.md`.
        """
        if not isinstance(stream, DataStream):
            raise ProgramError(f"CEP.pattern() takes a stream first, not {stream!r}")
        if not isinstance(pattern, Pattern):
            raise ProgramError(f"CEP.pattern() takes a pattern, such as Pattern.begin('first'), not {pattern!r}")
        pattern.check()
        keyed = stream if isinstance(stream, KeyedStream) else stream.key_by(_no_key)
        return PatternStream(keyed, pattern, None, TimeDomain.EVENT_TIME)


@final
@dataclass(frozen=True, slots=True)
class PatternStream:
    """A stream and the pattern to find in it. Made by `CEP.pattern`."""

    _stream: KeyedStream
    _pattern: Pattern
    _late_tag: OutputTag | None
    _domain: TimeDomain

    def in_event_time(self) -> PatternStream:
        """Look for the pattern in the order of timestamps, in records up to the watermark. This is the default."""
        return replace(self, _domain=TimeDomain.EVENT_TIME)

    def in_processing_time(self) -> PatternStream:
        """Look for the pattern in the order of arrival. The time of a record is the wall clock when it arrives."""
        return replace(self, _domain=TimeDomain.PROCESSING_TIME)

    def side_output_late_data(self, output_tag: OutputTag) -> PatternStream:
        """Send late records, whose timestamps the watermark has passed, to a side output instead of dropping them."""
        check_tag("side_output_late_data", output_tag)
        return replace(self, _late_tag=output_tag)

    def process(self, func: PatternProcessFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Call a function for each match. Its results get the timestamp of the last record of the match.

        In processing time, results have no timestamp. Raises ProgramError for a side output of late records in
        processing time.
        """
        check_process_function(func, PatternProcessFunction)
        return self._stream._then("Pattern", self._factory(func), output_type)

    def _factory(self, func: PatternProcessFunction) -> EventTimePatternFactory | ProcessingTimePatternFactory:
        if self._domain is TimeDomain.EVENT_TIME:
            return EventTimePatternFactory(self._pattern, func, self._late_tag)
        if self._late_tag is not None:
            raise ProgramError("no record is late in processing time: leave out side_output_late_data()")
        return ProcessingTimePatternFactory(self._pattern, func)

    def select(self, func: Callable[[Match], Any], output_type: TypeInformation | None = None) -> DataStream:
        """Emit the result of a function for each match. A match maps the name of each step to the step's records."""
        return self.process(_Select(_callable("select", func)), output_type)

    def flat_select(
        self, func: Callable[[Match], Iterable[Any] | None], output_type: TypeInformation | None = None
    ) -> DataStream:
        """Emit all elements that a function yields or returns for each match."""
        return self.process(_FlatSelect(_callable("flat_select", func)), output_type)


class _Select(PatternProcessFunction):
    def __init__(self, func: Callable[[Match], Any]) -> None:
        self._func = func

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        return (self._func(match),)


class _FlatSelect(PatternProcessFunction):
    def __init__(self, func: Callable[[Match], Iterable[Any] | None]) -> None:
        self._func = func

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        return self._func(match)


def _callable(method: str, func: Any) -> Any:
    if not callable(func):
        raise ProgramError(f"{method}() takes a function of a match, not {func!r}")
    return func


def _no_key(record: object) -> int:
    return 0
