"""Records that come too late: they go to a side output, or are counted and dropped."""

from __future__ import annotations

from typing import Any, Final, final

from headgate.operators.base import OperatorContext
from headgate.types.output_tag import OutputTag

LATE_RECORDS: Final = "numLateRecordsDropped"
"""The metric of the records that came too late, by Flink's name."""


@final
class LateRecords:
    """Takes the late records of an operator, or of one of its inputs."""

    def __init__(self, context: OperatorContext, tag: OutputTag | None) -> None:
        """`tag` is that of the side output, None for none."""
        self._tag = tag
        self._count = context.metrics.counter(LATE_RECORDS)

    def take(self, value: Any, time_ms: int, out: list[Any], times: list[int]) -> None:
        """Add a late record to what is emitted, if it is."""
        if self._tag is None:
            self._count.inc()
        else:
            out.append((self._tag, value))
            times.append(time_ms)
