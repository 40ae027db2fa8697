"""Assigners of buckets, the folders below the base path that records go to."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, final

from headgate.connectors.files.date_pattern import DatePattern, zone_of
from headgate.connectors.files.places import is_hidden
from headgate.errors import ProgramError, SinkError
from headgate.types.row import Row, make_row

Buckets = dict[str, list[Any]]
"""Records by folder: a path below the base path, with "/" between its parts; "" is the base path itself."""

NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
"""The text in folder names for None and for empty text, as in Hive."""

_ESCAPED: Final = {code: f"%{code:02X}" for code in [*range(0x20), *b"\"#%'*/:=?\\{}[]^", 0x7F]}


class BucketAssigner(ABC):
    """Assigns records to folders. Make one with the functions of this class, or derive your own."""

    @abstractmethod
    def assign(self, records: list[Any], wall_ms: int) -> Buckets:
        """Return the records to write, by folder, in order within each folder.

        `wall_ms` is the wall-clock time in milliseconds. Raises `SinkError` naming the record that has no folder.
        """

    def of_all(self, wall_ms: int) -> str | None:
        """Return the folder of all records at a time; None if a record determines its folder."""
        return None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Return the assigner that puts all files into the base path."""
        return BasePath()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """Return the assigner that names folders by the wall-clock time of writing, not by the record's timestamp.

        `format_str` is a pattern of Java's DateTimeFormatter. `timezone_id` is a name such as "Europe/Oslo", an offset
        such as "GMT-08:00", or None for the zone of the host. Raises ProgramError for an unknown pattern or zone.
        """
        return DateTime(format_str, timezone_id)

    @staticmethod
    def partition_bucket_assigner(*columns: str, **computed: Callable[[Any], object]) -> BucketAssigner:
        """Return the assigner of partition folders, as in Hive and Spark: `day=2024-02-29/country=NO`.

        `columns` are fields of the records, which are rows with names or dicts. The folder's name holds these fields,
        and the file leaves them out. `computed` are functions of the record; they come after the columns.

        >>> days = BucketAssigner.partition_bucket_assigner("country", day=lambda order: order["time"][:10])
        """
        return Partitions(columns, computed)


@final
class BasePath(BucketAssigner):
    """Assigns all records to the base path."""

    def assign(self, records: list[Any], wall_ms: int) -> Buckets:
        return {"": records}

    def of_all(self, wall_ms: int) -> str:
        return ""


@final
class DateTime(BucketAssigner):
    """Assigns records to a folder named by the wall-clock time."""

    def __init__(self, format_str: str, timezone_id: str | None) -> None:
        self._pattern = DatePattern(format_str)
        self._zone = None if timezone_id is None else zone_of(timezone_id)

    def assign(self, records: list[Any], wall_ms: int) -> Buckets:
        return {self.of_all(wall_ms): records}

    def of_all(self, wall_ms: int) -> str:
        now = datetime.datetime.fromtimestamp(wall_ms / 1000, datetime.UTC).astimezone(self._zone)
        return self._pattern.format(now)


@final
class Partitions(BucketAssigner):
    """A folder for each combination of values. Records leave out the columns, because the folder's name has them."""

    def __init__(self, columns: tuple[str, ...], computed: Mapping[str, Callable[[Any], object]]) -> None:
        names = [*columns, *computed]
        if not names or len(set(names)) < len(names):
            raise ProgramError(f"give at least one partition column, and each only once; got {names}")
        hidden = [name for name in names if is_hidden(name)]
        if hidden:
            raise ProgramError(f"folders of the partition column {hidden[0]} would be hidden from readers: rename it")
        self._columns = columns
        self._computed = dict(computed)
        self._prefixes = [f"{name.translate(_ESCAPED)}=" for name in names]

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
        return values + [_compute(name, compute, record) for name, compute in self._computed.items()], left

    def _folder(self, record: Any, values: list[Any]) -> str:
        try:
            return "/".join([prefix + _text(value) for prefix, value in zip(self._prefixes, values, strict=True)])
        except TypeError as error:
            raise SinkError(f"the record {record!r:.200} cannot be put into a partition: {error}") from error


def _compute(name: str, compute: Callable[[Any], object], record: Any) -> object:
    try:
        return compute(record)
    except Exception as error:
        reason = f"the record {record!r:.200}: {type(error).__name__}: {error}"
        raise SinkError(f"the function of the partition column {name} fails for {reason}") from error


def _split_row(row: Row, columns: tuple[str, ...]) -> tuple[list[Any], Row]:
    values = row._values
    places, kept, names = _places(row._fields or (), columns)
    return [values[place] for place in places], make_row([values[place] for place in kept], names, row._row_kind)


@lru_cache(maxsize=16)
def _places(names: tuple[str, ...], columns: tuple[str, ...]) -> tuple[list[int], list[int], tuple[str, ...]]:
    """Return the places of the columns among the names, the places of the other names, and the other names."""
    places = [names.index(column) for column in columns]
    kept = [place for place in range(len(names)) if place not in places]
    return places, kept, tuple(names[place] for place in kept)


def _text(value: Any) -> str:
    match value:
        case str() if value:
            return _escaped(value)
        case None | "":
            return NO_VALUE
        case bool():
            return str(value).lower()
        case int() | float() | Decimal() | datetime.date():
            return _escaped(str(value))
    raise TypeError(f"{value!r:.100} is a {type(value).__name__}; use text, a number, a boolean, a date or a time")


@lru_cache(maxsize=4096)
def _escaped(text: str) -> str:
    return text.translate(_ESCAPED)
