"""Excerpts: values of any kind as short texts for people, at a cost that is bounded by the length of the text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

from headgate.types.row import Row

_DEPTH_MAX: Final = 20
_CUT: Final = "…"


def excerpt(value: Any, characters: int) -> str:
    """Return the `repr` of a value, cut to `characters`.

    The rest of built-in containers, rows and dataclasses is not visited; for other objects the whole `repr` is made.
    Raises nothing: the excerpt says so when a `repr` fails.

    >>> excerpt({"ann": [1, 2]}, 100), excerpt(list(range(10**6)), 10)
    ("{'ann': [1, 2]}", '[0, 1, 2,…')
    """
    found, length = [], 0
    for piece in _pieces(value, characters, 0):
        found.append(piece)
        length += len(piece)
        if length > characters:
            return f"{''.join(found)[: characters - 1]}{_CUT}"
    return "".join(found)


def _pieces(value: Any, characters: int, depth: int) -> Iterator[str]:
    kind = type(value)
    if kind in (str, bytes):
        yield repr(value[: characters + 1])
    elif depth > _DEPTH_MAX:
        yield "..."
    elif kind in _BRACKETS and value:
        opening, closing = _BRACKETS[kind]
        items = ([_pieces(item, characters, depth + 1)] for item in value)
        yield from _joined(opening, items, ",)" if kind is tuple and len(value) == 1 else closing)
    elif kind is dict:
        pairs = ([_pieces(each, characters, depth + 1) for each in pair] for pair in value.items())
        yield from _joined("{", pairs, "}", ": ")
    elif isinstance(value, Row) and value._fields is None:
        yield from _joined("<Row(", ([_pieces(own, characters, depth + 1)] for own in value._values), ")>")
    elif isinstance(value, Row):
        named = zip(value._fields or (), value._values, strict=False)
        yield from _joined("Row(", _named(named, characters, depth), ")", "=")
    elif is_dataclass(kind) and hasattr(kind.__repr__, "__wrapped__"):  # made by dataclass()
        own = ((field.name, getattr(value, field.name, None)) for field in fields(value) if field.repr)
        yield from _joined(f"{kind.__qualname__}(", _named(own, characters, depth), ")", "=")
    else:
        yield _whole(value)


def _named(pairs: Iterable[tuple[str, Any]], characters: int, depth: int) -> Iterator[Sequence[Iterable[str]]]:
    for name, own in pairs:
        yield [name], _pieces(own, characters, depth + 1)


def _joined(opening: str, items: Iterable[Sequence[Iterable[str]]], closing: str, between: str = "") -> Iterator[str]:
    """Yield the text of items: each has several parts, joined by `between`."""
    yield opening
    for number, parts in enumerate(items):
        if number:
            yield ", "
        for place, part in enumerate(parts):
            if place:
                yield between
            yield from part
    yield closing


def _whole(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001  # a user's class may raise anything
        return f"<{type(value).__qualname__}, whose repr() raises {type(error).__name__}>"


_BRACKETS: Final[dict[type, tuple[str, str]]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    deque: ("deque([", "])"),
}
