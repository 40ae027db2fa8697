"""Patterns of SQL: of LIKE, and of SIMILAR TO."""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from typing import Final, final

from headgate.columns.java_patterns import java_pattern
from headgate.errors import InvalidExpressionError


@final
class LikeKind(Enum):
    """How the texts are found that a pattern of LIKE matches."""

    EQUALS = auto()
    STARTS = auto()
    ENDS = auto()
    CONTAINS = auto()
    MATCHES = auto()
    """By a regular expression of Java."""


_SIMPLE: Final = {
    (False, False): LikeKind.EQUALS,
    (False, True): LikeKind.STARTS,
    (True, False): LikeKind.ENDS,
    (True, True): LikeKind.CONTAINS,
}


@lru_cache(maxsize=1000)
def like_pattern(source: str, escape: str) -> tuple[LikeKind, str]:
    """Return how LIKE finds texts, and the text or pattern for it.

    Raises `InvalidExpressionError` if the escape character is not one, or is before a character that needs none.

    >>> like_pattern("a%", "\\\\"), like_pattern("100!%", "!")
    ((<LikeKind.STARTS: 2>, 'a'), (<LikeKind.EQUALS: 1>, '100%'))
    """
    if len(escape) != 1:
        raise InvalidExpressionError(f"the escape of like() is one character, not {escape!r}")
    parts: list[str] = []  # texts, "_" and "%"; a text begins with a space
    characters = iter(source)
    for own in characters:
        if own == escape:
            after = next(characters, "")
            if after not in ("_", "%", escape) or not after:
                raise InvalidExpressionError(
                    f"{own + after!r} in the pattern {source!r} of like() escapes nothing: write {own * 2!r}"
                )
            own = after
        elif own in "_%":
            parts.append(own)
            continue
        if parts and parts[-1].startswith(" "):
            parts[-1] += own
        else:
            parts.append(" " + own)
    inner = parts[parts[:1] == ["%"] : len(parts) - (parts[-1:] == ["%"])]
    if not inner or (len(inner) == 1 and inner[0].startswith(" ")):
        starts, ends = parts[:1] == ["%"], parts[-1:] == ["%"]
        return _SIMPLE[starts, ends], inner[0][1:] if inner else ""
    regular = "".join(_REGULAR.get(part) or re.sub(r"(\W)", r"\\\1", part[1:]) for part in parts)
    return LikeKind.MATCHES, rf"\A(?:{regular})\z"


_REGULAR: Final = {"_": ".", "%": "(?s:.*)"}

_CLASSES: Final = {
    "alpha": r"\p{Alpha}",
    "upper": r"\p{Upper}",
    "lower": r"\p{Lower}",
    "digit": r"\d",
    "space": " ",
    "whitespace": r"\s",
    "alnum": r"\p{Alnum}",
}
_CLASS: Final = re.compile(r"\[:(\w+):\]")


@lru_cache(maxsize=1000)
def java_source(source: str) -> str:
    """Return a regular expression of SQL as one of Java that matches the whole text.

    As in Flink, a point is any character, and `^` is the beginning of the text. Raises `InvalidExpressionError` if a
    bracket is not closed.
    """
    made: list[str] = []
    at = 0
    in_brackets = False
    while at < len(source):
        own = source[at]
        named = _CLASS.match(source, at) if in_brackets else None
        if named is not None:
            if named.group(1).lower() not in _CLASSES:
                raise InvalidExpressionError(f"the pattern {source!r} of similar() has no class {named.group()!r}")
            made.append(_CLASSES[named.group(1).lower()])
            at = named.end()
            continue
        if own == "[" and not in_brackets:
            in_brackets = True
        elif own == "]":
            in_brackets = False
        elif own in "\\$" or (in_brackets and own in "[&"):
            own = "\\" + own
        elif own in _REGULAR and not in_brackets:
            own = _REGULAR[own]
        made.append(own)
        at += 1
    regular = rf"\A(?:{''.join(made)})\z"
    if in_brackets:
        raise InvalidExpressionError(f"the pattern {source!r} of similar() has a bracket that is not closed")
    try:
        java_pattern(regular)
    except InvalidExpressionError as error:
        raise InvalidExpressionError(f"the pattern {source!r} of similar() is none: {error}") from None
    return regular
