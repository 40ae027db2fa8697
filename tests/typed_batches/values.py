"""Random batches of all types that have a typed form, and of some that have none."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo

from headgate.types.instant import Instant
from headgate.types.row import KeywordNames, Row, RowKind, make_row


class MyInt(int):
    pass


class MyRow(Row):
    pass


EDGES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 127, 128, -128, -129, 2**15, -(2**15) - 1, 2**30, 2**31, -(2**31), -(2**31) - 1),
    *(2**60, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 10**30, -(10**400), 16**5000),
    *(0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), -float("nan"), 5e-324, 1.7976931348623157e308),
    *("", "a", "\0", "\x7f", "\x80", "ÿ", "ā", "\u07ff", "\u0800", "\ud800", "\udfff", "\udc80\ud800", "\uffff"),
    *("\U00010000", "\U0010ffff", "naïve 日本 🎈", "x" * 300, b"", b"\0\xff", b"y" * 300),
    *(Decimal("0"), Decimal("-0"), Decimal("1.50"), Decimal("-1E+400"), Decimal("1E-400"), Decimal("NaN")),
    *(Decimal("-NaN123"), Decimal("sNaN"), Decimal("-sNaN5"), Decimal("Infinity"), Decimal("-Infinity")),
    *(dt.date.min, dt.date.max, dt.date(2024, 2, 29), dt.time.min, dt.time.max, dt.time(1, 2, 3, 4, fold=1)),
    *(dt.datetime.min, dt.datetime.max, dt.datetime(2026, 10, 25, 2, 30, fold=1)),
    *(dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 1, 5, tzinfo=dt.UTC, fold=1)),
    *(dt.timedelta.min, dt.timedelta.max, dt.timedelta(0), dt.timedelta(-1, 5, 7), dt.timedelta.resolution),
)
"""Values with a typed form."""

OTHERS: Final[tuple[Any, ...]] = (
    *(MyInt(5), MyRow(1), 1j, {1}, frozenset({1}), bytearray(b"a"), Fraction(1, 3), Instant(1, 2), RowKind.INSERT),
    *(dt.datetime(2026, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")), dt.time(1, tzinfo=dt.UTC), int, ...),
    *(dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), range(3)),
)
"""Values without one: a batch with such a value is pickled."""

NAMES: Final = (None, (), ("a",), ("a", "b", "c"), KeywordNames(("z", "a", "m")), ("b", "a", "c"), ("get", "_x", "é"))


class Values:
    """Makes values from a random generator. `others` is the probability of a value without a typed form."""

    def __init__(self, chance: random.Random, others: float = 0.0, shared: float = 0.02) -> None:
        self._chance = chance
        self._others = others
        self._shared = shared
        self._made: list[Any] = []

    def batch(self) -> tuple[list[Any], list[int] | None, list[Any] | None]:
        chance = self._chance
        self._made = []
        count = chance.choice((1, 1, 2, 3, 5, 20, 130))
        one = self.maker(chance.choice((0, 1, 2, 3)))
        records = [one() if chance.random() < 0.97 else self.value(2) for _ in range(count)]
        times = [chance.randrange(-(2**63), 2**63) for _ in records] if chance.random() < 0.3 else None
        keys: list[Any] | None = None
        if chance.random() < 0.5:
            place = chance.randrange(3)
            own = self.scalar()
            keys = [part(record, place) if chance.random() < 0.99 else own() for record in records]
        return records, times, keys

    def value(self, depth: int) -> Any:
        return self.maker(depth)()

    def scalar(self) -> Callable[[], Any]:
        chance = self._chance
        text = chance.choice(("abc", "aé", "日本a", "a\ud800", "🎈x"))
        return chance.choice(
            (
                lambda: chance.choice(EDGES),
                lambda: chance.choice(EDGES),
                lambda: chance.randrange(-100, 100),
                lambda: chance.randrange(-(2**40), 2**40),
                lambda: chance.getrandbits(chance.randrange(200)) * chance.choice((1, -1)),
                lambda: chance.random() * 10 ** chance.randrange(-20, 20),
                lambda: "".join(chance.choices(text, k=chance.randrange(8))),
                lambda: chance.randbytes(chance.randrange(8)),
                lambda: chance.random() < 0.5,
                lambda: Decimal(chance.randrange(10**9)).scaleb(chance.randrange(-9, 9)),
                lambda: dt.datetime(2026, 1, 1) + dt.timedelta(seconds=chance.randrange(10**8)),
                lambda: dt.timedelta(microseconds=chance.randrange(-(10**15), 10**15)),
                lambda: None,
            )
        )

    def maker(self, depth: int) -> Callable[[], Any]:
        """Return a function that makes values which are more or less alike."""
        chance = self._chance
        own = self.scalar() if depth == 0 or chance.random() < 0.3 else self.container(depth)

        def make() -> Any:
            if self._made and chance.random() < self._shared:
                return chance.choice(self._made)
            value = chance.choice(OTHERS) if self._others and chance.random() < self._others else own()
            if chance.random() < 0.1:
                self._made.append(value)
            return value

        return make

    def container(self, depth: int) -> Callable[[], Any]:
        chance = self._chance
        parts = [self.maker(depth - 1) for _ in range(chance.choice((0, 1, 2, 2, 3, 3, 5)))]
        one = self.maker(depth - 1)
        names: Any = chance.choice(NAMES)
        kind = chance.choice((RowKind.INSERT, *RowKind))
        keys = [chance.choice(("k", "key", "é", 1, True, None, 2.5, (1, "a"), b"b")) for _ in parts]

        def some() -> list[Any]:
            return [one() for _ in range(chance.choice((0, 1, 2, 3, 3, 3, 7)))]

        return chance.choice(
            (
                lambda: tuple([part() for part in parts]),
                lambda: tuple(part() for part in parts),
                lambda: [part() for part in parts],
                lambda: tuple(some()),
                some,
                lambda: {key: part() for key, part in zip(keys, parts, strict=True)},
                lambda: {f"k{chance.randrange(5)}": own for own in some()},
                lambda: {chance.randrange(5): own for own in some()},
                lambda: Row(**{f"n{at}": part() for at, part in enumerate(parts)}),
                lambda: Row.of_kind(kind, *[part() for part in parts]),
                lambda: make_row(tuple([part() for part in parts]), names, kind),
                lambda: make_row(some(), chance.choice(NAMES), kind),
            )
        )


def part(record: Any, place: int) -> Any:
    """Return a part of a record, itself if it has none there."""
    try:
        if isinstance(record, tuple | list):
            return record[place]
        if isinstance(record, dict):
            return list(record.values())[place]
        return record._values[place] if isinstance(record, Row) else record
    except IndexError:
        return record


def shown(value: Any) -> Any:
    """Return a description that tells any two different values apart, and shows which containers are the same."""
    return _shown(value, {})


def _shown(value: Any, seen: dict[int, int]) -> Any:
    kind = type(value)
    if kind in (tuple, list, dict) or isinstance(value, Row):
        if value != () and id(value) in seen:
            return "again", seen[id(value)]
        seen[id(value)] = len(seen)
    if kind is tuple or kind is list:
        return kind, [_shown(each, seen) for each in value]
    if kind is dict:
        return kind, [(_shown(key, seen), _shown(own, seen)) for key, own in value.items()]
    if isinstance(value, Row):
        fields = value._fields
        return kind, type(fields), fields and list(fields), value._row_kind, _shown(value._values, seen)
    return kind, hex(value) if kind is int else repr(value)
