"""Paths into JSON, such as `$.orders[0].price` or `lax $.names[*]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, final

from headgate.errors import InvalidExpressionError


@final
class NotFoundError(LookupError):
    """A path leads to nothing."""


@final
@dataclass(frozen=True, slots=True)
class JsonStep:
    """A step to the field `name`, the elements `indexes`, the slice `piece`, all elements, or all at any depth."""

    name: str | None = None
    indexes: tuple[int, ...] = ()
    piece: slice | None = None
    deep: bool = False

    @property
    def is_definite(self) -> bool:
        """Whether the step leads to at most one value."""
        return self.name is not None or len(self.indexes) == 1

    def values(self, value: Any) -> Iterator[Any]:
        """Iterate over what the step leads to."""
        if self.deep:
            yield from _everything(value)
        elif self.name is not None:
            if isinstance(value, dict) and self.name in value:
                yield value[self.name]
        elif self.indexes:
            if isinstance(value, list):
                yield from (value[index] for index in self.indexes if -len(value) <= index < len(value))
        elif isinstance(value, list):
            yield from value if self.piece is None else value[self.piece]
        elif isinstance(value, dict) and self.piece is None:
            yield from value.values()


def _everything(value: Any) -> Iterator[Any]:
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for own in inner:
        yield from _everything(own)


@final
@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path. `is_lax` tells that what is not found is no error."""

    steps: tuple[JsonStep, ...]
    is_lax: bool

    @property
    def is_definite(self) -> bool:
        """Whether the path leads to one value, not to a list of all that it leads to."""
        return all(step.is_definite for step in self.steps)

    def read(self, value: Any) -> Any:
        """Return the value that the path leads to. Raises `NotFoundError` if there is none.

        >>> json_path("$.a[*].b").read({"a": [{"b": 1}, {"c": 2}, {"b": 3}]})
        [1, 3]
        """
        found = [value]
        is_definite = True
        for step in self.steps:
            found = [inner for own in found for inner in step.values(own)]
            if is_definite and step.is_definite and not found:
                raise NotFoundError("the path leads to nothing")
            is_definite = is_definite and step.is_definite
        return found[0] if is_definite else found


_MODE: Final = re.compile(r"\s*(?:(strict|lax)\s+)?(.*?)\s*", re.IGNORECASE | re.DOTALL)
_NAME: Final = re.compile(r"[^\s.\[\]()?*'\"]+")
_QUOTED: Final = re.compile(r"""\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\]""")
_INDEXES: Final = re.compile(r"\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]")
_PIECE: Final = re.compile(r"\[\s*(-?\d+)?\s*:\s*(-?\d+)?\s*\]")
_ALL: Final = re.compile(r"\*|\[\s*\*\s*\]")


@lru_cache(maxsize=1000)
def json_path(source: str) -> JsonPath:
    """Return a path, which is strict unless it begins with `lax`.

    Raises `InvalidExpressionError` for a path that is none, and for one with a filter or a function.
    """
    mode = _MODE.fullmatch(source)
    assert mode is not None
    text = mode.group(2)
    at = text.startswith("$")
    steps: list[JsonStep] = []
    while at < len(text):
        step, at = _step(source, text, int(at), steps)
        steps.append(step)
    if not text:
        raise InvalidExpressionError("the path into JSON is empty: give $ for the whole")
    return JsonPath(tuple(steps), (mode.group(1) or "").lower() == "lax")


def _step(source: str, text: str, at: int, before: list[JsonStep]) -> tuple[JsonStep, int]:
    """Return the step at a place, and the place after it."""
    if text.startswith("..", at):
        return JsonStep(deep=True), at + 2
    named = not before if at == 0 else before[-1].deep if before else False
    if text.startswith(".", at):
        at += 1
        named = True
    if named and (name := _NAME.match(text, at)) and not text.startswith("(", name.end()):
        return JsonStep(name.group()), name.end()
    if named and text.startswith("*", at):
        return JsonStep(), at + 1
    if quoted := _QUOTED.match(text, at):
        own = quoted.group(1) if quoted.group(1) is not None else quoted.group(2)
        return JsonStep(re.sub(r"\\(.)", r"\1", own)), quoted.end()
    if indexes := _INDEXES.match(text, at):
        return JsonStep(indexes=tuple(map(int, indexes.group(1).split(",")))), indexes.end()
    if piece := _PIECE.match(text, at):
        start, stop = (None if own is None else int(own) for own in piece.groups())
        return JsonStep(piece=slice(start, stop)), piece.end()
    if everything := _ALL.match(text, at):
        return JsonStep(), everything.end()
    raise InvalidExpressionError(
        f"the path {source!r} into JSON is not supported from {text[at:]!r} on: give names, indexes, [*], [1:2] and .."
    )
