"""Outputs of an operator: results with a tag go to side outputs, other results are converted to the declared type."""

from __future__ import annotations

from typing import Any, final

from headgate.elements import Batch
from headgate.operators.base import SideOutput, UserCodeError
from headgate.types.conversion import UNFIT, Conversion, conversion, culprit
from headgate.types.output_tag import OutputTag
from headgate.types.type_information import TypeInformation


@final
class OutputType:
    """The declared type of a stream, as the conversion of its records."""

    def __init__(self, type_info: TypeInformation, convert: Conversion) -> None:
        self._type_info = type_info
        self._convert = convert

    @staticmethod
    def of(type_info: TypeInformation | None) -> OutputType | None:
        """Return the conversion to a type; None if records need no conversion."""
        convert = None if type_info is None else conversion(type_info)
        return None if type_info is None or convert is None else OutputType(type_info, convert)

    def converted(self, batch: Batch) -> Batch:
        """Return the batch with converted records; columns are not converted. Raises `UserCodeError`."""
        if batch.columns is not None or not len(batch):
            return batch
        records = batch.records
        try:
            converted = self._convert(records)
        except UNFIT:
            index, error = culprit(self._convert, records)
            raise UserCodeError(record=records[index]) from self._refusal(error)
        if converted is not records:
            batch.records = list(converted)
        return batch

    def results(self, results: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
        """Return the results of one record, converted unless they have a tag. Raises TypeError for a wrong type."""
        try:
            return [value if _is_tagged(value) else self._convert([value])[0] for value in results]
        except UNFIT as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> TypeError:
        return TypeError(f"what the function emitted is not of its output type {self._type_info}: {error}")


def _is_tagged(value: object) -> bool:
    return type(value) is tuple and len(value) == 2 and type(value[0]) is OutputTag


def split_sides(records: list[Any], timestamps: list[int] | None) -> tuple[Batch, SideOutput]:
    """Return the results without a tag as the main output, and the results with a tag as side outputs.

    Call it only if `OutputTag.in_use`. If no result has a tag, the main output uses the given lists.

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
