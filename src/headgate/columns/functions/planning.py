"""Functions that ask the plan or the job: the type of an expression, the time, and the watermark."""

from __future__ import annotations

from typing import Any, Final, final

import pyarrow as pa

from headgate.columns.functions.registry import CallSite, function
from headgate.columns.logical_types import STRING, TIMESTAMPS
from headgate.columns.typed import Apply, Constant, Typed, Values
from headgate.errors import InvalidExpressionError


@function("typeof")
def typeof(call: CallSite) -> Typed:
    """The type of the argument in SQL, as a text. The second argument, for types only Java has, changes nothing."""
    call.expect_count(1, 2)
    return Constant(pa.scalar(str(call.types[0])), STRING)


_MILLIS: Final = 3


@final
class WatermarkKernel:
    """Returns the watermark of its operator, which sets it, as a column; NULL before the first watermark."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self.watermark_ms: int | None = None

    def __call__(self, rows: int, time: Any) -> Values:
        if self.watermark_ms is None:
            return pa.nulls(rows, self._kind)
        return pa.repeat(pa.scalar(self.watermark_ms, pa.int64()).cast(self._kind), rows)


@function("current_watermark")
def current_watermark(call: CallSite) -> Typed:
    """The watermark of the operator, as a time of the type of the argument, which is a column of event time."""
    call.expect_count(1)
    own = call.types[0]
    if own.kind not in TIMESTAMPS or own.precision != _MILLIS:
        call.fail("a column of event time, TIMESTAMP(3) or TIMESTAMP_LTZ(3)")
    kernel = WatermarkKernel(own.arrow)
    return Apply(function=call.function, arguments=call.arguments, type=own.nulls(), kernel=kernel, deterministic=False)


@function("source_watermark")
def source_watermark(call: CallSite) -> Typed:
    """Refused: no source of headgate makes watermarks that a declaration could take over."""
    raise InvalidExpressionError(
        "SOURCE_WATERMARK() is for sources with watermarks of their own, which none is: declare the watermark of a "
        "column, such as ts - INTERVAL '5' SECOND"
    )
