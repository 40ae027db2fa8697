"""Java's patterns for dates and times in names of folders, and Java's names of time zones."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable
from typing import Final, final

from headgate.errors import ProgramError

_FIELDS: Final[dict[str, Callable[[datetime.datetime], object]]] = {
    "y": lambda at: at.year,
    "yy": lambda at: f"{at:%y}",
    "yyyy": lambda at: f"{at.year:04}",
    "M": lambda at: at.month,
    "MM": lambda at: f"{at:%m}",
    "MMM": lambda at: f"{at:%b}",
    "MMMM": lambda at: f"{at:%B}",
    "d": lambda at: at.day,
    "dd": lambda at: f"{at:%d}",
    "DDD": lambda at: f"{at:%j}",
    "E": lambda at: f"{at:%a}",
    "EE": lambda at: f"{at:%a}",
    "EEE": lambda at: f"{at:%a}",
    "EEEE": lambda at: f"{at:%A}",
    "a": lambda at: f"{at:%p}",
    "H": lambda at: at.hour,
    "HH": lambda at: f"{at:%H}",
    "hh": lambda at: f"{at:%I}",
    "m": lambda at: at.minute,
    "mm": lambda at: f"{at:%M}",
    "s": lambda at: at.second,
    "ss": lambda at: f"{at:%S}",
    "SSS": lambda at: f"{at.microsecond // 1000:03}",
}
_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)
_OFFSET: Final = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d\d))?")


@final
class DatePattern:
    """A pattern such as yyyy-MM-dd--HH. Raises ProgramError for unknown letters.

    >>> DatePattern("yyyy/MM/dd 'at' HH").format(datetime.datetime(2024, 2, 29, 12))
    '2024/02/29 at 12'
    """

    def __init__(self, pattern: str) -> None:
        self._tokens = [_token(pattern, match) for match in _TOKEN.finditer(pattern)]

    def format(self, at: datetime.datetime) -> str:
        """Return the time as text in this pattern."""
        return "".join(text if is_literal else str(_FIELDS[text](at)) for text, is_literal in self._tokens)


def _token(pattern: str, match: re.Match[str]) -> tuple[str, bool]:
    """Return a text, and whether it is literal. Otherwise it is a key of `_FIELDS`."""
    text, letter = match.group(), match.group(2)
    if letter is None:
        literal = match.group(1)
        return (text if literal is None else literal.replace("''", "'") or "'"), True
    field = text.replace("u", "y")
    if field not in _FIELDS:
        raise ProgramError(f"{text!r} in the pattern {pattern!r} is not known; there are {', '.join(_FIELDS)}")
    return field, False


def zone_of(timezone_id: str) -> datetime.tzinfo:
    """Return the time zone for a name or an offset. Raises ProgramError for an unknown zone.

    >>> zone_of("GMT-08:00")
    datetime.timezone(datetime.timedelta(days=-1, seconds=57600))
    """
    offset = _OFFSET.fullmatch(timezone_id)
    if offset is not None:
        sign, hours, minutes = offset.groups()
        amount = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
        if amount <= datetime.timedelta(hours=18):
            return datetime.timezone(-amount if sign == "-" else amount)
    try:
        return zoneinfo.ZoneInfo("UTC" if timezone_id == "Z" else timezone_id)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise ProgramError(f"there is no time zone {timezone_id!r}; try 'UTC' or 'Europe/Oslo'") from error
