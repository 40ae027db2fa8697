"""Java's patterns of dates and times, such as `yyyy-MM-dd HH:mm:ss`: written to, and read from, columns of texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.time_units import DAY, PER_SECOND
from headgate.columns.typed import Values
from headgate.columns.vectors import Integers, first_day
from headgate.errors import InvalidExpressionError

MONTHS: Final = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
WEEKDAYS: Final = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


@final
@dataclass(frozen=True, slots=True)
class _Field:
    """So many times the same letter."""

    letter: str
    count: int


_TOKEN: Final = re.compile(r"'((?:[^']|'')+)'|('')|(([A-Za-z])\4*)|([^A-Za-z']+)|(.)", re.DOTALL)


@cache
def _tokens(pattern: str, letters: str) -> tuple[str | _Field, ...]:
    """Return the fields of a pattern, and the texts between them. Raises `InvalidExpressionError` for other letters."""
    found: list[str | _Field] = []
    for quoted, quote, run, letter, text, other in _TOKEN.findall(pattern):
        if other:
            raise InvalidExpressionError(f"the pattern {pattern!r} has a quote without its end: write '' for a quote")
        if not run:
            found.append(quoted.replace("''", "'") or ("'" if quote else text))
        elif letter in letters and len(run) <= _MOST.get(letter, 4):
            found.append(_Field(letter, len(run)))
        else:
            raise InvalidExpressionError(
                f"the pattern {pattern!r} has {run}, which is not supported here: use the letters {' '.join(letters)}, "
                f"and put text in quotes"
            )
    return tuple(found)


_MOST: Final = {"S": 9, "y": 9, "d": 2, "H": 2, "h": 2, "K": 2, "k": 2, "m": 2, "s": 2, "D": 3, "a": 1, "X": 3, "Z": 3}

_WRITTEN: Final = "yMdDEaHhKkmsS"
_READ: Final = "yMdaHhKkmsSXZ"


def checked_pattern(pattern: str, *, read: bool) -> str:
    """Return a pattern to write, or read, times by. Raises `InvalidExpressionError` for one with other letters."""
    _tokens(pattern, _READ if read else _WRITTEN)
    return pattern


def written(pattern: str, local: Values) -> Values:
    """Return TIMESTAMPs or DATEs as texts. Names are English.

    >>> import datetime
    >>> print(written("EEE, d MMM yyyy h:mm a", pa.scalar(datetime.datetime(2024, 2, 29, 15, 7))))
    Thu, 29 Feb 2024 3:07 PM
    """
    if isinstance(local, pa.Scalar):
        return written(pattern, pa.repeat(local, 1))[0]
    if pa.types.is_date(local.type):
        local = local.cast(pa.timestamp("s"))
    parts = [token if isinstance(token, str) else _text(token, local) for token in _tokens(pattern, _WRITTEN)]
    if not any(isinstance(part, pa.Array) for part in parts):
        return pc.if_else(pc.is_valid(local), "".join(map(str, parts)), pa.scalar(None, pa.string()))
    return pc.binary_join_element_wise(*parts, "")


_NUMBERS: Final[dict[str, Callable[[Values], Values]]] = {
    "y": pc.year,
    "M": pc.month,
    "d": pc.day,
    "D": pc.day_of_year,
    "H": pc.hour,
    "m": pc.minute,
    "s": pc.second,
}
_HOURS: Final = {"K": (0, 12), "h": (1, 12), "k": (1, 24)}
"""The first hour, and how many there are."""


def _text(field: _Field, local: pa.Array) -> pa.Array:
    match field.letter:
        case "M" if field.count >= 3:
            return _names(MONTHS, field.count, pc.subtract(pc.month(local), 1))
        case "E":
            return _names(WEEKDAYS, field.count, pc.day_of_week(local))
        case "a":
            return pc.if_else(pc.less(pc.hour(local), 12), "AM", "PM")
        case "S":
            nanos = pc.add(pc.multiply(pc.millisecond(local), 10**6), pc.multiply(pc.microsecond(local), 10**3))
            return _padded(pc.add(nanos, pc.nanosecond(local)), 9, field.count)
        case "K" | "h" | "k":
            first, count = _HOURS[field.letter]
            hours = pa.array([(hour - first) % count + first for hour in range(24)])
            return _padded(hours.take(pc.hour(local)), field.count)
        case "y" if field.count == 2:
            return pc.utf8_slice_codeunits(_padded(pc.year(local), 4), -2, 2**31 - 1)
    return _padded(_NUMBERS[field.letter](local), field.count)


def _padded(numbers: pa.Array, width: int, digits: int | None = None) -> pa.Array:
    text = pc.cast(numbers, pa.string())
    if width > 1:
        text = pc.utf8_lpad(text, width, "0")
    return text if digits is None else pc.utf8_slice_codeunits(text, 0, digits)


def _names(names: list[str], count: int, index: pa.Array) -> pa.Array:
    return pa.array([name if count > 3 else name[:3] for name in names]).take(index)


DEFAULT_TIMESTAMP: Final = (
    r"^(?P<y>\d{4})-(?P<M>\d{1,2})-(?P<d>\d{1,2})"
    r"(?: (?P<H>\d{1,2}):(?P<m>\d{1,2}):(?P<s>\d{1,2})(?:\.(?P<S>\d{0,9}))?)?$"
)
"""How Flink reads a TIMESTAMP without a pattern."""

DEFAULT_DATE: Final = r"^\s*(?P<y>\d{1,4})(?:\s*-\s*(?P<M>\d{1,2})(?:\s*-\s*(?P<d>\d{1,2}))?)?(?:\s.*)?$"
"""How Flink reads a DATE without a pattern."""


@cache
def expression_of(pattern: str, *, lenient: bool) -> str:
    """Return the regular expression of a pattern, with a group for each field.

    A lenient pattern reads as Java's `SimpleDateFormat` does: it ignores the rest of the text, and takes any number of
    digits where no other digits follow. Any other pattern reads as `DateTimeFormatter` does.
    """
    tokens = _tokens(pattern, _READ)
    found = ["^"]
    for index, token in enumerate(tokens):
        if isinstance(token, str):
            found.append(re.sub(r"([][.\\+*?()|{}^$])", r"\\\1", token))
            continue
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        found.append(f"(?P<{token.letter}{token.count}_{index}>{_group(token, following, lenient)})")
    return "".join(found) + ("" if lenient else "$")


def _group(field: _Field, following: str | _Field, lenient: bool) -> str:
    match field.letter:
        case "a":
            return "(?i:AM|PM)"
        case "M" if field.count >= 3:
            return "|".join(name if field.count > 3 else name[:3] for name in MONTHS)
        case "X":
            return r"Z|[+-]\d{2}(?::?\d{2})?"
        case "Z":
            return r"[+-]\d{4}"
    adjacent = isinstance(following, _Field) and following.letter not in "aXZ"
    if lenient and not adjacent:
        return r"\d{1,9}"
    return r"\d{1,2}" if field.count == 1 and field.letter not in "yS" and not adjacent else rf"\d{{{field.count}}}"


_PLAIN_SECONDS: Final = r"^[1-9]\d{3}-\d\d-\d\d \d\d:\d\d:\d\d$"
_PLAIN: Final = {
    DEFAULT_TIMESTAMP: _PLAIN_SECONDS,
    DEFAULT_DATE: r"^[1-9]\d{3}-\d\d-\d\d$",
    **{expression_of("yyyy-MM-dd HH:mm:ss", lenient=own): _PLAIN_SECONDS for own in (True, False)},
    **{expression_of("yyyy-MM-dd", lenient=own): r"^[1-9]\d{3}-\d\d-\d\d$" for own in (True, False)},
}
"""The texts that Arrow reads as a regular expression does."""


@final
@dataclass(frozen=True, slots=True)
class Read:
    """Times that were read from texts: NULL where a text is no time. `offsets` are seconds, if the pattern has them."""

    local: pa.Array
    offsets: pa.Array | None


def read(expression: str, texts: pa.Array, unit: str, *, millis: bool = False) -> Read:
    """Return the TIMESTAMPs, in a unit, that texts stand for. Fields that the pattern lacks come from 1970-01-01.

    A fraction of a second is a number of milliseconds, instead of digits after a point, with `millis`.
    """
    plain = _PLAIN.get(expression)
    if plain is not None and pc.all(pc.match_substring_regex(texts, plain)).as_py():
        try:
            return Read(pc.cast(texts, pa.timestamp(unit)), None)  # ten times as fast
        except pa.ArrowInvalid:
            pass  # one of the texts is a day or an hour that does not exist
    found = pc.extract_regex(texts, expression)
    valid = pc.is_valid(found).to_numpy(zero_copy_only=False)
    fields: dict[str, Integers] = {}
    afternoon: npt.NDArray[np.bool_] | None = None
    offsets = None
    for own in found.type:
        letter, group = own.name[0], pc.fill_null(pc.struct_field(found, own.name), "")
        match letter:
            case "a":
                afternoon = pc.equal(pc.utf8_upper(group), "PM").to_numpy(zero_copy_only=False)
            case "X" | "Z":
                offsets = _offsets(group)
            case "M" if own.name[1:2] in ("3", "4"):
                names = pa.array([name if own.name[1] == "4" else name[:3] for name in MONTHS])
                fields["M"] = _numbers(pc.index_in(group, names), 0) + 1
            case "S":
                fraction = group if millis else pc.utf8_rpad(group, 9, "0")
                fields["S"] = _numbers(_digits(fraction), 0) * (10**6 if millis else 1)
            case _:
                missing = 1970 if letter == "y" else 1 if letter in "Md" else 0
                numbers = _numbers(_digits(group), missing)
                fields[letter] = numbers + 2000 if own.name.startswith("y2_") else numbers
    zero = np.zeros(len(texts), np.int64)
    hour, in_day = _hour(fields, afternoon, zero)
    local, exists = _joined(fields, hour, zero, PER_SECOND[unit])
    valid = valid & exists & in_day
    return Read(pa.array(local, mask=~valid).view(pa.timestamp(unit)), offsets)


def _digits(texts: pa.Array) -> pa.Array:
    return pc.cast(pc.if_else(pc.equal(texts, ""), None, texts), pa.int64())


def _numbers(values: pa.Array, missing: int) -> Integers:
    found: Integers = pc.fill_null(pc.cast(values, pa.int64()), missing).to_numpy()
    return found


def _offsets(texts: pa.Array) -> pa.Array:
    hours = _numbers(_digits(pc.replace_substring_regex(texts, r"^(?:Z|[+-](\d\d)).*$", r"\1")), 0)
    minutes = _numbers(_digits(pc.replace_substring_regex(texts, r"^(?:Z|[+-]\d\d:?(\d*))$", r"\1")), 0)
    sign = np.where(pc.starts_with(texts, "-").to_numpy(zero_copy_only=False), -1, 1)
    return pa.array(sign * (hours * 3600 + minutes * 60))


def _hour(
    fields: dict[str, Integers], afternoon: npt.NDArray[np.bool_] | None, zero: Integers
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Return the hour of the day, and whether the fields are hours."""
    hour = fields.get("H", zero)
    valid = (hour >= 0) & (hour <= 23)
    for letter, (first, count) in _HOURS.items():
        if letter in fields:
            given = fields[letter]
            valid = valid & (given >= first) & (given < first + count)
            hour = given % count
            if afternoon is not None and count == 12:
                hour = hour + 12 * afternoon
    return hour, valid


def _joined(
    fields: dict[str, Integers], hour: Integers, zero: Integers, per_second: int
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Return times in units since 1970, and whether a time with these fields exists."""
    one = zero + 1
    year, month, day = fields.get("y", zero + 1970), fields.get("M", one), fields.get("d", one)
    minute, second, nanos = (fields.get(letter, zero) for letter in "msS")
    months = (year - 1970) * 12 + month - 1
    exists = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (minute < 60) & (second < 60)
    first = first_day(np.where(exists, months, 0))
    length = first_day(np.where(exists, months, 0) + 1) - first
    exists = exists & (day >= 1) & (day <= length)
    seconds = (first + day - 1) * DAY + hour * 3600 + minute * 60 + second
    return seconds * per_second + nanos * per_second // 10**9, exists
