"""LIKE, SIMILAR TO, and regular expressions. A constant pattern that is none is refused when the plan is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.functions.registry import CallSite, for_each, function
from headgate.columns.functions.substrings import positions_of
from headgate.columns.functions.text_calls import checked, per_option
from headgate.columns.java_patterns import JavaPattern, java_pattern
from headgate.columns.logical_types import BOOLEAN, INT, STRING, LogicalType, array, map_of
from headgate.columns.sql_patterns import LikeKind, java_source, like_pattern
from headgate.columns.typed import Constant, Typed
from headgate.errors import InvalidExpressionError

_ENDS_WITH_LINE_END: Final = r"[\n\r\x{85}\x{2028}\x{2029}]\z"


def _arrow_can(pattern: JavaPattern, value: pa.Array) -> bool:
    if pattern.re2 is None or not pattern.ends_line:
        return pattern.re2 is not None
    return not pc.any(pc.match_substring_regex(value, pattern=_ENDS_WITH_LINE_END)).as_py()


def _pattern(source: str) -> JavaPattern | None:
    """Return the pattern; None if it is no pattern, or not supported, for which most functions are NULL, as in Flink.

    Only patterns in columns are unknown before the job runs.
    """
    try:
        return java_pattern(source)
    except InvalidExpressionError:
        return None


def _found(value: pa.Array, source: str) -> pa.Array:
    pattern = _pattern(source) if source else None
    if pattern is None:
        return pc.if_else(value.is_valid(), pa.scalar(False), None)  # as in Flink, also for an empty pattern
    return _matched(value, pattern)


def _matched(value: pa.Array, pattern: JavaPattern) -> pa.Array:
    if _arrow_can(pattern, value):
        return pc.match_substring_regex(value, pattern=pattern.re2)
    return for_each(lambda text: pattern.python.search(text) is not None, pa.bool_(), value)


def _replaced(value: pa.Array, source: str, replacement: str) -> pa.Array:
    pattern = _pattern(source)
    if pattern is None:
        return pa.nulls(len(value), pa.string())
    if _arrow_can(pattern, value) and not pattern.may_be_empty:
        quoted = replacement.replace("\\", "\\\\")
        return pc.replace_substring_regex(value, pattern=pattern.re2, replacement=quoted)
    return for_each(lambda text: pattern.replaced(text, replacement), pa.string(), value)


def _extracted(value: pa.Array, source: str, group: int = 0) -> pa.Array:
    pattern = _pattern(source)
    if pattern is None or not 0 <= group <= pattern.python.groups:
        return pa.nulls(len(value), pa.string())
    if _arrow_can(pattern, value) and group not in pattern.unsure_groups:
        return pc.struct_field(pc.extract_regex(value, pattern=pattern.capture(group)), "found")

    def extract(text: str) -> str | None:
        found = pattern.python.search(text)
        return None if found is None else found.group(group)

    return for_each(extract, pa.string(), value)


def _all_extracted(value: pa.Array, source: str, group: int = 1) -> pa.Array:
    pattern = _pattern(source)
    if pattern is None or not 0 <= group <= pattern.python.groups:
        return pa.nulls(len(value), pa.list_(pa.string()))
    return for_each(lambda text: [found.group(group) for found in pattern.matches(text)], array(STRING).arrow, value)


def _counted(value: pa.Array, source: str) -> pa.Array:
    pattern = _pattern(source)
    if pattern is None:
        return pa.nulls(len(value), pa.int32())
    if _arrow_can(pattern, value) and not pattern.may_be_empty and not pattern.has_assertions:
        return pc.count_substring_regex(value, pattern=pattern.re2)
    return for_each(lambda text: sum(1 for _ in pattern.matches(text)), pa.int32(), value)


def _placed(value: pa.Array, source: str) -> pa.Array:
    pattern = _pattern(source)
    if pattern is None:
        return pa.nulls(len(value), pa.int32())
    if _arrow_can(pattern, value):
        return positions_of(value, pc.find_substring_regex(value, pattern=pattern.re2))

    def place(text: str) -> int:
        found = pattern.python.search(text)
        return 0 if found is None else found.start() + 1

    return for_each(place, pa.int32(), value)


def _always(_: JavaPattern) -> bool:
    return True


def _never(_: JavaPattern) -> bool:
    return False


def _has_assertions_or_empty(pattern: JavaPattern) -> bool:
    return pattern.may_be_empty or pattern.has_assertions


def _may_be_empty(pattern: JavaPattern) -> bool:
    return pattern.may_be_empty


_INDEXED: Final = ("text", "text", "integer")

_REGULAR: Final[
    dict[str, tuple[Sequence[str], Callable[..., pa.Array], LogicalType, bool | None, Callable[[JavaPattern], bool]]]
] = {
    "regexp": (_INDEXED[:2], _found, BOOLEAN, None, _never),
    "regexp_replace": (("text", "text", "text"), _replaced, STRING, True, _may_be_empty),
    "regexp_extract": (_INDEXED, _extracted, STRING, True, _never),
    "regexp_extract_all": (_INDEXED, _all_extracted, array(STRING), True, _always),
    "regexp_count": (_INDEXED[:2], _counted, INT, True, _has_assertions_or_empty),
    "regexp_instr": (_INDEXED[:2], _placed, INT, True, _never),
    "regexp_substr": (_INDEXED[:2], _extracted, STRING, True, _never),
}
"""What each function takes, computes and is, whether it may be NULL, and which patterns Python computes by value."""


@function(*_REGULAR)
def regular_expression(call: CallSite) -> Typed:
    """A pattern that neither Arrow nor Python has is refused; NULL, or false, if it comes from a column."""
    takes, compute, result, nullable, needs_python = _REGULAR[call.function]
    given = checked(call, takes, 3 if call.function == "regexp_replace" else 2)
    source = _constant(given[1])
    by_value = True
    if source is not None:
        pattern = java_pattern(source)
        by_value = pattern.re2 is None or needs_python(pattern) or _group(given) in pattern.unsure_groups
    kernel = partial(per_option, compute, result.arrow, 1)
    return call.apply(kernel, result, given, nullable=nullable, by_value=by_value)


def _constant(own: Typed) -> Any:
    return own.value.as_py() if isinstance(own, Constant) else None


def _group(given: Sequence[Typed]) -> int:
    found = _constant(given[2]) if len(given) > 2 else 0
    return found if isinstance(found, int) else 0


def _like(value: pa.Array, source: str, escape: str = "\\") -> pa.Array:
    kind, part = like_pattern(source, escape)
    return _LIKE[kind](value, part)


def _equals(value: pa.Array, part: str) -> pa.Array:
    return pc.equal(value, part)


def _starts(value: pa.Array, part: str) -> pa.Array:
    return pc.starts_with(value, pattern=part)


def _ends(value: pa.Array, part: str) -> pa.Array:
    return pc.ends_with(value, pattern=part)


def _contains(value: pa.Array, part: str) -> pa.Array:
    return pc.match_substring(value, pattern=part)


def _searched(value: pa.Array, source: str) -> pa.Array:
    return _matched(value, java_pattern(source))


_LIKE: Final[dict[LikeKind, Callable[[pa.Array, str], pa.Array]]] = {
    LikeKind.EQUALS: _equals,
    LikeKind.STARTS: _starts,
    LikeKind.ENDS: _ends,
    LikeKind.CONTAINS: _contains,
    LikeKind.MATCHES: _searched,
}


@function("like")
def like(call: CallSite) -> Typed:
    """The whole text: `_` is a character, but no line end, as in Flink; `%` is any text."""
    given = checked(call, ["text", "text", "text"], least=2)
    source, escape = _constant(given[1]), _constant(given[2]) if len(given) > 2 else "\\"
    is_known = source is not None and escape is not None
    if is_known:
        like_pattern(source, escape)
    return call.apply(partial(per_option, _like, pa.bool_(), 1), BOOLEAN, given, can_fail=not is_known)


def _similar(value: pa.Array, source: str) -> pa.Array:
    return _matched(value, java_pattern(java_source(source)))


@function("similar")
def similar(call: CallSite) -> Typed:
    """The whole text, with a regular expression of SQL."""
    given = checked(call, ["text", "text"])
    source = _constant(given[1])
    by_value = source is not None and java_pattern(java_source(source)).re2 is None
    kernel = partial(per_option, _similar, pa.bool_(), 1)
    return call.apply(kernel, BOOLEAN, given, can_fail=source is None, by_value=by_value)


@function("str_to_map")
def text_to_map(call: CallSite) -> Typed:
    """Both delimiters are regular expressions. A part without the delimiter of a value is a key with NULL."""
    if len(call.arguments) == 2:
        call.fail("a text and no delimiters, or two")
    given = checked(call, ["text", "text", "text"], least=1)
    sources = [_constant(own) for own in given[1:]]
    for source in sources:
        if source is not None:
            java_pattern(source)
    kernel = partial(per_option, _mapped, _MAP.arrow, 1)
    return call.apply(kernel, _MAP, given, can_fail=None in sources, by_value=True)


_MAP: Final = map_of(STRING, STRING)


def _mapped(value: pa.Array, between: str = ",", within: str = "=") -> pa.Array:
    pairs, values = java_pattern(between), java_pattern(within)

    def entries(text: str) -> list[tuple[str, str | None]]:
        found: dict[str, str | None] = {}
        for pair in _parts(pairs, text) if text else ():
            key, *rest = _parts(values, pair, 2)
            found[key if rest else pair] = rest[0] if rest else None
        return list(found.items())

    return for_each(entries, _MAP.arrow, value)


def _parts(pattern: JavaPattern, text: str, limit: int = 0) -> list[str]:
    """Return the parts as Java's `String.split`: without empty ones at the end, unless there is a limit."""
    parts: list[str] = []
    start = 0
    for found in pattern.matches(text):
        if limit and len(parts) == limit - 1:
            break
        if found.end():  # an empty match at the beginning splits nothing
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    while not limit and len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if not limit and parts == [""] and start else parts
