"""Sets of characters, as classes of regular expressions have them: ranges of code points."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

Ranges = tuple[tuple[int, int], ...]
"""First and last code point of each range, in order, with gaps between them."""

LAST: Final = 0x10FFFF


def union(*sets: Ranges) -> Ranges:
    """Return the characters that one of the sets has.

    >>> union(((97, 99),), ((98, 101), (103, 103)))
    ((97, 101), (103, 103))
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted(own for ranges in sets for own in ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """Return all other characters."""
    found, start = [], 0
    for first, last in ranges:
        if start < first:
            found.append((start, first - 1))
        start = last + 1
    return (*found, (start, LAST)) if start <= LAST else tuple(found)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """Return the characters that both sets have."""
    return complement(union(complement(one), complement(other)))


def characters(text: str) -> Ranges:
    """Return the characters of a text."""
    return union(*(((ord(own), ord(own)),) for own in text))


def ignoring_case(ranges: Ranges) -> Ranges:
    """Return the set with each of its ASCII letters in both cases, as Java's `(?i)` does.

    >>> ignoring_case(((97, 98),))
    ((65, 66), (97, 98))
    """
    lower, upper = intersection(ranges, ((97, 122),)), intersection(ranges, ((65, 90),))
    return union(ranges, tuple((a - 32, b - 32) for a, b in lower), tuple((a + 32, b + 32) for a, b in upper))


DIGIT: Final[Ranges] = ((48, 57),)
LOWER: Final[Ranges] = ((97, 122),)
UPPER: Final[Ranges] = ((65, 90),)
ALPHA: Final = union(LOWER, UPPER)
ALNUM: Final = union(ALPHA, DIGIT)
WORD: Final = union(ALNUM, characters("_"))
SPACE: Final = characters(" \t\n\x0b\f\r")
PUNCT: Final[Ranges] = ((33, 47), (58, 64), (91, 96), (123, 126))
HORIZONTAL: Final = union(characters(" \t\xa0\u1680\u180e\u202f\u205f\u3000"), ((0x2000, 0x200A),))
VERTICAL: Final = characters("\n\x0b\f\r\x85\u2028\u2029")
LINE_ENDS: Final = characters("\n\r\x85\u2028\u2029")
ANY: Final[Ranges] = ((0, LAST),)

_POSIX: Final[dict[str, Ranges]] = {
    "Lower": LOWER,
    "Upper": UPPER,
    "ASCII": ((0, 127),),
    "Alpha": ALPHA,
    "Digit": DIGIT,
    "Alnum": ALNUM,
    "Punct": PUNCT,
    "Graph": union(ALNUM, PUNCT),
    "Print": union(ALNUM, PUNCT, characters(" ")),
    "Blank": characters(" \t"),
    "Cntrl": ((0, 31), (127, 127)),
    "XDigit": union(DIGIT, ((65, 70), (97, 102))),
    "Space": SPACE,
}
_AS_STRINGS: Final = {
    "IsAlphabetic": str.isalpha,
    "IsLetter": str.isalpha,
    "IsDigit": str.isdecimal,
    "IsUppercase": str.isupper,
    "IsLowercase": str.islower,
    "IsWhite_Space": str.isspace,
}


@lru_cache
def with_property(name: str) -> Ranges | None:
    """Return the characters of Java's `\\p{name}`; None if it is not known: a POSIX class or a category of Unicode.

    >>> with_property("Digit"), with_property("IsGreek")
    (((48, 57),), None)
    """
    if name in _POSIX:
        return _POSIX[name]
    test = _AS_STRINGS.get(name)
    if test is not None:
        return _runs([test(chr(code)) for code in range(LAST + 1)])
    category = name.removeprefix("gc=").removeprefix("general_category=").removeprefix("Is")
    found = _runs([unicodedata.category(chr(code)).startswith(category) for code in range(LAST + 1)])
    return found if category and found else None


def _runs(members: list[bool]) -> Ranges:
    starts = [code for code, own in enumerate(members) if own and not (code and members[code - 1])]
    ends = [code for code, own in enumerate(members) if own and not (code < LAST and members[code + 1])]
    return tuple(zip(starts, ends, strict=True))
