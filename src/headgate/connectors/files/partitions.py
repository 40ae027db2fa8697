"""Partition columns: folders named `column=value`, as Hive and Spark have them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, final

from headgate.connectors.files.buckets import BucketAssigner, Buckets
from headgate.errors import ProgramError, SinkError
from headgate.types.row import Row, make_row

NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
"""Stands for None and for empty text."""

_ESCAPED: Final = {code: f"%{code:02X}" for code in [*range(0x20), *b"\"#%'*/:=?\\{}[]^", 0x7F]}


@final
class Partitions(BucketAssigner):
    """A folder for each combination of values. The columns leave the record, as they are in the folder's name."""

    def __init__(self, columns: tuple[str, ...], computed: Mapping[str, Callable[[Any], object]]) -> None:
        names = [*columns, *computed]
        if not names or len(set(names)) < len(names):
            raise ProgramError(f"partition columns must be different ones, one at least; got {names}")
        self._columns = columns
        self._computed = dict(computed)

    def assign(self, records: list[Any], wall_ms: int) -> Buckets:
        buckets: Buckets = {}
        for record in records:
            values, left = self._split(record)
            buckets.setdefault(self._folder(record, values), []).append(left)
        return buckets

    def _split(self, record: Any) -> tuple[list[Any], Any]:
        """Return the values of the partition columns, and the record without them."""
        values: list[Any]
        try:
            if not self._columns:
                values, left = [], record
            elif isinstance(record, Row):
                values, left = _split_row(record, self._columns)
            elif isinstance(record, dict):
                left = dict(record)
                values = [left.pop(name) for name in self._columns]
            else:
                raise SinkError(f"the record {record!r:.200} has no columns: map it to a row with names, or to a dict")
        except (KeyError, ValueError) as error:
            wanted = ", ".join(self._columns)
            raise SinkError(f"the record {record!r:.200} lacks one of the partition columns {wanted}") from error
        return values + [compute(record) for compute in self._computed.values()], left

    def _folder(self, record: Any, values: list[Any]) -> str:
        names = [*self._columns, *self._computed]
        try:
            return "/".join(f"{name.translate(_ESCAPED)}={_text(v)}" for name, v in zip(names, values, strict=True))
        except TypeError as error:
            raise SinkError(f"the record {record!r:.200} cannot be put into a partition: {error}") from error


def _split_row(row: Row, columns: tuple[str, ...]) -> tuple[list[Any], Row]:
    names: tuple[str, ...] = row._fields or ()
    places = [names.index(column) for column in columns]
    values = row._values
    kept = [place for place in range(len(names)) if place not in places]
    left = make_row([values[place] for place in kept], tuple(names[place] for place in kept), row._row_kind)
    return [values[place] for place in places], left


def _text(value: Any) -> str:
    match value:
        case None | "":
            return NO_VALUE
        case bool():
            return str(value).lower()
        case str() | int() | float() | Decimal() | datetime.date():
            return str(value).translate(_ESCAPED)
    raise TypeError(f"{value!r:.100} is a {type(value).__name__}; use text, a number, a boolean, a date or a time")
