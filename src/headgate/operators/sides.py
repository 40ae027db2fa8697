"""Side outputs: results that a function yields with a tag are kept apart from its main output."""

from __future__ import annotations

from typing import Any

from headgate.elements import Batch
from headgate.operators.base import Sides
from headgate.types.output_tag import OutputTag


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
