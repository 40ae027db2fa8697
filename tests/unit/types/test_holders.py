"""A record is copied if anything else holds it or a part of it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import pytest

from headgate.common import Row
from headgate.functions.source import Records
from headgate.types.record_copies import BY_VALUE

pytestmark = pytest.mark.usefixtures("both_passings")


@dataclass
class Order:
    number: int


class Tagged:
    """A plain class with an attribute that may hold anything."""

    def __init__(self, tags: Any) -> None:
        self.tags = tags


class Slotted:
    __slots__ = ("tags",)

    def __init__(self, tags: list[int]) -> None:
        self.tags = tags


class Few(tuple[Any, ...]):
    """A tuple that shows less than it holds."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Extended(tuple[Any, ...]):
    """A tuple with attributes."""

    tags: list[int]


def with_tags(make: Callable[..., Any], *args: Any) -> Any:
    made = make(*args)
    made.tags = []
    return made


def with_keyword(*, tags: list[int]) -> Any:
    def made(*, of: list[int] = tags) -> list[int]:
        return of

    return made


def with_default(tags: list[int]) -> Any:
    def made(of: list[int] = tags) -> list[int]:
        return of

    return made


HELD_PARTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "list": (lambda: [[1]], lambda record: record[0]),
    "dict": (lambda: {"a": [1]}, lambda record: record["a"]),
    "tuple": (lambda: (1, [2]), lambda record: record[1]),
    "inner tuple": (lambda: [(1, [2])], lambda record: record[0]),
    "key of a dict": (lambda: {Tagged([1]): 1}, lambda record: next(iter(record))),
    "element of a set": (lambda: {Tagged([1])}, lambda record: next(iter(record))),
    "row": (lambda: Row(a=[1]), lambda record: record.a),
    "values of a row": (lambda: Row(a=1), lambda record: record._values),
    "object": (lambda: Tagged([1]), lambda record: record.tags),
    "attributes": (lambda: Tagged(1), lambda record: record.__dict__),
    "slots": (lambda: Slotted([1]), lambda record: record.tags),
    "dataclass": (lambda: [Order(1)], lambda record: record[0]),
    "shown by no iterator": (lambda: Few(([1],)), lambda record: record[0]),
    "attribute of a tuple": (lambda: with_tags(Extended), lambda record: record.tags),
    "default of a function": (lambda: (with_default([1]),), lambda record: record[0].__defaults__[0]),
    "keyword of a function": (lambda: (with_keyword(tags=[1]),), lambda record: record[0].__kwdefaults__["of"]),
    "attribute of a function": (lambda: (with_tags(lambda: lambda: 0),), lambda record: record[0].tags),
    "owner of a method": (lambda: ([1].append,), lambda record: record[0].__self__),
}


def passed(made: Callable[[], Any], how: str) -> list[Any]:
    """Return a record as it passes from a function, in a list."""
    if how == "yielded":
        return _extended(made() for _ in range(1))
    if how == "mapped":
        return BY_VALUE.mapped(lambda _: made(), iter([0]))[0]
    if how == "polled":
        polled = Records([made()])
        return BY_VALUE.owned(polled)[0]
    return _extended([made()])


def _extended(results: Any) -> list[Any]:
    out: list[Any] = []
    BY_VALUE.extend(out, results)
    return out


@pytest.mark.parametrize("how", ["yielded", "listed", "mapped", "polled"])
@pytest.mark.parametrize("name", HELD_PARTS)
def test_a_single_holder_of_a_part_is_noticed(name: str, how: str) -> None:
    make, part = HELD_PARTS[name]
    kept: list[Any] = []

    def made() -> Any:
        record = make()
        kept.append(part(record))
        return record

    out = passed(made, how)
    assert part(out[0]) is not kept[0]


@pytest.mark.parametrize("how", ["yielded", "listed", "mapped", "polled"])
@pytest.mark.parametrize("weak", [False, True])
def test_a_single_holder_of_a_record_is_noticed(how: str, weak: bool) -> None:
    kept: list[Any] = [WeakSet() if weak else None]

    def made() -> Any:
        record = Tagged([1])
        if weak:
            kept[0].add(record)
        else:
            kept[0] = record
        return record

    out = passed(made, how)
    assert out[0] is not kept[0]
    assert not weak or len(kept[0]) == 0


def test_a_weak_reference_to_a_set_is_noticed() -> None:
    made: set[int] = {1}
    seen_by = weakref.ref(made)
    results = [made]
    del made
    out: list[Any] = []
    BY_VALUE.extend(out, results)
    assert out[0] is not seen_by()
