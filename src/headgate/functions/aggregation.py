"""The running aggregations of keyed streams: sum, minimum and maximum of one field, as reduce functions.

The field is a position in a tuple, list or `Row`, or a name in a `Row`. Where records are plain values, position 0 is
the value itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from headgate.functions.api import MapFunction, ReduceFunction
from headgate.types.row import Row, make_row

Place = int | str
"""Position or name of the field."""


class FieldReduce(ReduceFunction):
    """The first record of a key with one field replaced by the combination of that field over all records."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def combine(self, so_far: Any, value: Any) -> Any:
        """Return the combination of two values of the field."""
        raise NotImplementedError

    def reduce(self, value1: Any, value2: Any) -> Any:
        return _with_field(value1, self.place, self.combine(field_of(value1, self.place), field_of(value2, self.place)))


class Sum(FieldReduce):
    """The sum of the field: its values joined by `+`, texts included. Raises TypeError for values without a sum."""

    def combine(self, so_far: Any, value: Any) -> Any:
        try:
            return so_far + value
        except TypeError as error:
            raise TypeError(f"field {self.place!r} holds {value!r}, which cannot be added to {so_far!r}") from error


class Min(FieldReduce):
    """The least value of the field."""

    def combine(self, so_far: Any, value: Any) -> Any:
        return min(so_far, value)


class Max(FieldReduce):
    """The greatest value of the field."""

    def combine(self, so_far: Any, value: Any) -> Any:
        return max(so_far, value)


class RecordChoice(ReduceFunction):
    """The whole record whose field beats the field of all others; the earlier record where two fields are equal."""

    def __init__(self, place: Place, beats: Callable[[Any, Any], bool]) -> None:
        self.place = place
        self.beats = beats

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value2 if self.beats(field_of(value2, self.place), field_of(value1, self.place)) else value1


class Projection(MapFunction):
    """Selects fields of a tuple, in the order of `places`."""

    def __init__(self, places: Sequence[int]) -> None:
        self.places = tuple(places)

    def map(self, value: Any) -> Any:
        return tuple(value[place] for place in self.places)


def min_by(place: Place) -> RecordChoice:
    """Return the function that keeps the record with the least value of the field."""
    return RecordChoice(place, operator.lt)


def max_by(place: Place) -> RecordChoice:
    """Return the function that keeps the record with the greatest value of the field."""
    return RecordChoice(place, operator.gt)


def field_of(record: Any, place: Place) -> Any:
    """Return the field of the record.

    Raises TypeError when the record has no fields, and the error of the record's `[]` when it lacks this field.
    """
    if isinstance(record, (tuple, list, Row)):
        return record[place]  # type: ignore[index]  # a name in a tuple raises TypeError by itself
    if place == 0:
        return record
    raise TypeError(f"a record has no field {place!r}: {record!r} is neither a tuple nor a Row")


def _with_field(record: Any, place: Place, value: Any) -> Any:
    if isinstance(record, Row):
        changed = make_row(list(record), record._fields, record.get_row_kind())
        changed[place] = value
        return changed
    if isinstance(record, (tuple, list)):
        index = range(len(record))[operator.index(place)]  # type: ignore[arg-type]  # a name has failed above
        make = getattr(type(record), "_make", type(record))  # a named tuple has a constructor of its own
        return make([*record[:index], value, *record[index + 1 :]])
    return value
