"""Side outputs: results that a function yields with a tag, and records that come too late.

Results with a tag are kept apart from the main output. Late records go to a side output, or are counted and dropped.
"""

from __future__ import annotations

from typing import Any, Final, final

from headgate.elements import Batch
from headgate.operators.base import OperatorContext, Sides
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


def split_sides(records: list[Any], timestamps: list[int] | None) -> tuple[Batch, Sides]:
    """Return the results without a tag, as the main output, and those with one, by tag.

    Only to be called where `OutputTag.in_use`. The lists become the main output's if no result has a tag.

    >>> main, sides = split_sides([1, (OutputTag("late"), 2), 3], [10, 20, 30])
    >>> main.records, main.timestamps, [(tag, batch.records) for tag, batch in sides]
    ([1, 3], [10, 30], [('late', [2])])
    """
    tagged = [
        index
        for index, record in enumerate(records)
        if type(record) is tuple and len(record) == 2 and type(record[0]) is OutputTag
    ]
    if not tagged:
        return Batch(records, timestamps), ()
    sides: dict[str, Batch] = {}
    for index in tagged:
        tag, value = records[index]
        side = sides.setdefault(tag.tag_id, Batch([], None if timestamps is None else []))
        side.records.append(value)
        if timestamps is not None and side.timestamps is not None:
            side.timestamps.append(timestamps[index])
    return _without(tagged, records, timestamps), tuple(sides.items())


def _without(tagged: list[int], records: list[Any], timestamps: list[int] | None) -> Batch:
    left_out = set(tagged)
    kept = [index for index in range(len(records)) if index not in left_out]
    main = [records[index] for index in kept]
    return Batch(main, None if timestamps is None else [timestamps[index] for index in kept])
