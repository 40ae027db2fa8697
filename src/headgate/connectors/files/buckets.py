"""Which folder below the base path a record goes to."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, final

from headgate.errors import ProgramError

Buckets = dict[str, list[Any]]
"""Records by folder: a path below the base path, with "/" between its parts; "" is the base path itself."""


class BucketAssigner(ABC):
    """Deals records to folders. Make one with the functions of this class, or derive your own."""

    @abstractmethod
    def assign(self, records: list[Any], wall_ms: int) -> Buckets:
        """Return the records as they are to be written, by folder, in order in each; `wall_ms` is the time of day.

        Raises `SinkError` naming the record that has no folder.
        """

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Return the assigner that puts all files into the base path."""
        return BasePath()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """Return the assigner that names folders by the time of day at which a record is written, not by its own time.

        `format_str` is a pattern of yyyy, MM, dd, HH, mm, ss, signs and text in single quotes; `timezone_id` is a name
        such as "Europe/Oslo", None for the zone of the host.
        """
        return DateTime(format_str, timezone_id)

    @staticmethod
    def partition_bucket_assigner(*columns: str, **computed: Callable[[Any], object]) -> BucketAssigner:
        """Return the assigner of folders as Hive and Spark have them: `day=2024-02-29/country=NO`.

        `columns` are fields of the records, which are rows with names or dicts; these fields are in the folder's name
        and no longer in the file. `computed` are functions of the record; they come after the columns.

        >>> days = BucketAssigner.partition_bucket_assigner("country", day=lambda order: order["time"][:10])
        """
        from headgate.connectors.files import partitions  # noqa: PLC0415 - one of the assigners that this class names

        return partitions.Partitions(columns, computed)


@final
class BasePath(BucketAssigner):
    """All in one folder."""

    def assign(self, records: list[Any], wall_ms: int) -> Buckets:
        return {"": records}


@final
class DateTime(BucketAssigner):
    """One folder at a time."""

    def __init__(self, format_str: str, timezone_id: str | None) -> None:
        self._format = _strftime(format_str)
        try:
            self._zone = None if timezone_id is None else zoneinfo.ZoneInfo(timezone_id)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
            raise ProgramError(f"there is no time zone {timezone_id!r}; try 'UTC' or 'Europe/Oslo'") from error

    def assign(self, records: list[Any], wall_ms: int) -> Buckets:
        now = datetime.datetime.fromtimestamp(wall_ms / 1000, datetime.UTC).astimezone(self._zone)
        return {now.strftime(self._format): records}


_FIELDS: Final = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)


def _strftime(pattern: str) -> str:
    """Return Java's pattern of date and time as Python's."""
    return "".join(_python(pattern, token) for token in _TOKEN.finditer(pattern))


def _python(pattern: str, token: re.Match[str]) -> str:
    text, letter = token.group(), token.group(2)
    if letter is None:
        literal = token.group(1)
        return (text if literal is None else literal.replace("''", "'") or "'").replace("%", "%%")
    if text not in _FIELDS:
        raise ProgramError(f"{text!r} in the pattern {pattern!r} is not known; there are {', '.join(_FIELDS)}")
    return _FIELDS[text]
