"""Which records pass as they are, and which are copied; both on this interpreter."""

from __future__ import annotations

import datetime as dt
import pickle
import threading
import time
from array import array
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.common import Row, RowKind, Types
from headgate.functions.source import Records
from headgate.types import record_copies
from headgate.types.record_copies import BY_REFERENCE, BY_VALUE, copied, is_immutable
from headgate.types.row import make_row

Point = namedtuple("Point", "x y")  # as programs have them

pytestmark = pytest.mark.usefixtures("both_passings")


class Colour(Enum):
    RED = 1


@dataclass
class Order:
    number: int
    lines: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Trade:
    price: float
    parties: tuple[Any, ...] = ()


class Tagged:
    """A plain class with an attribute that may hold anything."""

    def __init__(self, tags: Any) -> None:
        self.tags = tags

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tagged) and self.tags == other.tags

    def __repr__(self) -> str:
        return f"Tagged({self.tags!r})"

    __hash__ = None  # type: ignore[assignment]


IMMUTABLE = [
    *(None, True, 7, 2.5, 1j, "a", b"a", (), (1, ("a", None)), frozenset({1}), range(3), Decimal("1.5")),
    *(dt.date(2026, 1, 2), dt.datetime(2026, 1, 2), dt.timedelta(1), Colour.RED, Trade(1.5, ("ann",)), Point(1, 2)),
    *(np.int64(3), np.float64(1.5), len, Row, Trade(1.5, None)),  # type: ignore[arg-type]
]
MUTABLE: list[Callable[[], Any]] = [
    *(lambda: [1], lambda: {"a": 1}, lambda: {1, 2}, lambda: (1, [2]), lambda: {"a": {"b": [1]}}, lambda: Row(a=1)),
    *(lambda: Row(1, [2]), lambda: Point(1, [2]), lambda: Order(1, [2]), lambda: Tagged([1]), lambda: bytearray(b"a")),
    *(lambda: array("q", [1]), lambda: OrderedDict(a=1), lambda: defaultdict(list, a=[1]), lambda: Trade(1.5, ([],))),
    *(lambda: frozenset({Point(1, 2)}), lambda: {Point(1, 2): [1]}),
]


def emitted(results: Any) -> list[Any]:
    out: list[Any] = []
    BY_VALUE.extend(out, results)
    return out


@pytest.mark.parametrize("value", IMMUTABLE, ids=repr)
def test_what_cannot_change_is_never_copied(value: Any) -> None:
    held = [value]
    assert is_immutable(value)
    assert copied(value) is value
    assert emitted(held)[0] is value
    assert BY_VALUE.owned(Records([value]))[0][0] is value


@pytest.mark.parametrize("make", MUTABLE, ids=lambda make: repr(make()))
def test_a_held_record_is_copied(make: Callable[[], Any]) -> None:
    held = make()
    (seen,) = emitted(each for each in [held])
    assert seen == held
    assert type(seen) is type(held)
    assert is_immutable(held) or seen is not held


FRESH = [make for make in MUTABLE if type(make()) not in (bytearray, array, OrderedDict, defaultdict)]


@pytest.mark.parametrize("make", FRESH, ids=lambda make: repr(make()))
@pytest.mark.parametrize("how", ["yielded", "listed", "tupled", "mapped"])
def test_a_fresh_record_is_not_copied(make: Callable[[], Any], how: str) -> None:
    known: list[int] = []

    def noted() -> Any:
        value = make()
        known.append(id(value))
        return value

    if how == "mapped":
        out, _ = BY_VALUE.mapped(lambda _: noted(), iter([0]))
    else:
        results: Any = (noted() for _ in range(1)) if how == "yielded" else [noted()]
        if how == "tupled":
            results = tuple(results)
        out = []
        BY_VALUE.extend(out, results)
    assert [id(value) for value in out] == known


def test_a_record_that_a_function_passes_on_is_not_copied() -> None:
    records: list[Any] = [{"a": [1]}, Order(1), Row(a=1)]
    same = [id(record) for record in records]
    passed, plain = BY_VALUE.mapped(lambda record: record, iter(records))
    assert [id(record) for record in passed] == same
    assert not plain


@given(st.lists(st.sampled_from(["held", "inner", "alias", "closure", "default", "weak"]), min_size=1, max_size=4))
def test_whoever_still_reaches_a_record_reaches_a_copy(ways: list[str]) -> None:
    kept: list[Any] = []
    weak: WeakSet[Any] = WeakSet()

    def emit(way: str) -> Iterator[Any]:
        inner = [1]
        record: Any = {"inner": inner, "more": {"deep": (inner, 2)}} if way == "alias" else {"inner": inner}
        if way == "held":
            kept.append(record)
        elif way == "inner":
            kept.append(inner)
        elif way == "closure":
            kept.append(lambda: record)
        elif way == "default":
            kept.append(lambda at=record: at)
        elif way == "weak":
            record = Tagged(inner)
            Tagged.__hash__ = object.__hash__  # type: ignore[method-assign,assignment]
            weak.add(record)
        yield record
        inner.append(2)
        if way != "weak":
            record["late"] = True

    for way in ways:
        results = emit(way)
        out: list[Any] = []
        BY_VALUE.extend(out, results)
        found = out[0].tags if way == "weak" else out[0]["inner"]
        assert found == [1]
        assert way == "weak" or "late" not in out[0]


def test_a_list_that_the_function_keeps_gives_copies() -> None:
    buffer = [[1], [2]]
    results = buffer
    out: list[Any] = []
    BY_VALUE.extend(out, results)
    buffer[0].append(9)
    assert out == [[1], [2]]


def test_one_object_twice_becomes_two_records() -> None:
    one = [1]
    results = [one, one]
    del one
    out: list[Any] = []
    BY_VALUE.extend(out, results)
    out[0].append(2)
    assert out == [[1, 2], [1]]


def test_aliases_within_a_record_stay() -> None:
    inner = [1]
    (record,) = emitted(each for each in [{"a": inner, "b": inner}])
    record["a"].append(2)
    assert record == {"a": [1, 2], "b": [1, 2]}
    assert inner == [1]


def test_a_view_is_always_copied() -> None:
    base = np.arange(4)
    (seen,) = emitted(base[1:] for _ in range(1))
    base[1] = 9
    assert seen.tolist() == [1, 2, 3]


def test_a_local_class_is_copied_by_value() -> None:
    class Local(list[int]):
        pass

    held = Local([1])
    (seen,) = emitted(each for each in [held])
    held.append(2)
    assert list(seen) == [1]


def test_a_copy_leaves_its_local_class_as_it_is() -> None:
    class Basket:
        def __init__(self) -> None:
            self.items = [[1]]

        def size(self) -> int:
            return len(self.items)

    size, held = Basket.size, Basket()
    copy = copied(held)
    assert type(copy) is Basket
    assert copy.items == held.items
    assert copy.items[0] is not held.items[0]
    assert Basket.size is size


def test_what_cannot_be_copied_is_named() -> None:
    held = {"lock": threading.Lock()}
    with pytest.raises(TypeError, match=r"record of type dict cannot be copied.*object-reuse"):
        emitted(each for each in [held])


def test_object_reuse_passes_the_object_itself() -> None:
    held: list[Any] = [{"a": 1}]
    out: list[Any] = []
    BY_REFERENCE.extend(out, held)
    assert out[0] is held[0]
    assert BY_REFERENCE.each_copied(held)[0] is held[0]
    assert BY_REFERENCE.mapped(lambda value: held[0], iter([1]))[0][0] is held[0]


@pytest.mark.parametrize("type_info", [Types.LONG(), Types.STRING(), Types.SQL_TIMESTAMP(), Types.BIG_DEC()])
def test_a_declared_type_without_parts_needs_no_look(type_info: Any) -> None:
    assert BY_VALUE.of_type(type_info) is BY_REFERENCE


@pytest.mark.parametrize(
    "type_info", [None, Types.PICKLED_BYTE_ARRAY(), Types.ROW([Types.LONG()]), Types.LIST(Types.LONG())]
)
def test_any_other_type_does(type_info: Any) -> None:
    assert BY_VALUE.of_type(type_info) is BY_VALUE


class Note(Trade):
    """A plain subclass of a frozen dataclass: its instances take further attributes."""


@dataclass(frozen=True)
class Cached:
    text: str

    @cached_property
    def words(self) -> list[str]:
        return self.text.split()


class Labelled(Row):
    """A row with attributes of its own."""


class Positional(Row):
    """A class of rows without attributes."""

    __slots__ = ()


class Celsius(np.float64):
    """A number with attributes."""


def test_a_subclass_of_a_frozen_dataclass_can_change() -> None:
    held = Note(1.5)
    (seen,) = emitted(each for each in [held])
    held.comment = "late"  # type: ignore[attr-defined]
    assert type(seen) is Note
    assert not hasattr(seen, "comment")


def test_a_cached_property_of_a_frozen_dataclass_is_not_shared() -> None:
    held = Cached("a b")
    (seen,) = emitted(each for each in [held])
    assert seen == held
    held.words.append("c")
    seen.words.append("d")
    assert (held.words, seen.words) == (["a", "b", "c"], ["a", "b", "d"])


def test_records_of_numpy_arrays_are_copied() -> None:
    array = np.rec.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i8"), ("b", "f8")])
    for seen in emitted(iter(array)):
        seen.a = 9
    assert array.a.tolist() == [1, 3]


def test_a_subclass_of_a_numpy_number_is_copied() -> None:
    held = Celsius(20.5)
    held.notes = []  # type: ignore[attr-defined]
    (seen,) = emitted(each for each in [held])
    assert seen is not held
    assert seen == held


@pytest.mark.parametrize("kind", [Labelled, Positional])
def test_rows_of_a_subclass_stay_of_it(kind: type[Row]) -> None:
    held = kind(1, [2])
    held.set_row_kind(RowKind.DELETE)
    if kind is Labelled:
        held.label = ["a"]  # type: ignore[attr-defined]
    for seen in (emitted(each for each in [held])[0], pickle.loads(pickle.dumps(held))):  # noqa: S301
        assert type(seen) is kind
        assert (seen.get_row_kind(), list(seen)) == (RowKind.DELETE, [1, [2]])
        assert getattr(seen, "label", None) == getattr(held, "label", None)
        seen[1].append(3)
    assert held[1] == [2]


def test_attributes_of_a_row_of_numbers_stay() -> None:
    held = Labelled(1)
    held.label = "a"  # type: ignore[attr-defined]
    assert copied(held).label == "a"


def test_rows_that_share_their_values_are_copied() -> None:
    values = (1, [2])
    kept = make_row(values, None)

    def rows() -> Iterator[Row]:
        yield make_row(kept._values, None)

    del values
    (seen,) = emitted(rows())
    seen[1].append(3)
    assert kept[1] == [2]


def test_a_closure_in_a_record_keeps_its_values() -> None:
    def results() -> Iterator[Any]:
        count = [1]
        yield ("count", lambda: count[0])
        yield ("append", count.append)
        count[0] = 2

    out = emitted(results())
    assert out[0][1]() == 1


def test_attributes_and_defaults_of_a_local_function_are_not_shared() -> None:
    notes: list[int] = []

    def local(to: list[int] = notes) -> list[int]:
        return to

    local.notes = notes  # type: ignore[attr-defined]
    (seen,) = emitted(each for each in [(local,)])
    seen[0]().append(1)
    seen[0].notes.append(1)
    assert notes == []


def test_a_function_of_a_module_stays_itself() -> None:
    held = (emitted, len, {"by": Point._make})
    (seen,) = emitted(each for each in [held])
    assert seen[0] is emitted
    assert seen[1] is len
    assert copied((emitted, len)) == (emitted, len)


@pytest.mark.slow
def test_immutable_values_may_be_nested_deeply() -> None:
    deep: Any = ()
    for number in range(100_000):
        deep = (number, deep)
    assert is_immutable(deep)
    assert copied(deep) is deep


def test_each_value_in_an_immutable_one_is_looked_at_once() -> None:
    doubled: Any = (1,)
    for _ in range(200):
        doubled = (doubled, doubled)
    assert is_immutable(doubled)
    (seen,) = emitted([["fresh", doubled, doubled]])
    assert seen[1] is doubled


def test_a_list_of_one_large_immutable_value_is_looked_at_once() -> None:
    large = tuple((number, (number,)) for number in range(6000))
    began_s = time.process_time()
    (seen,) = emitted([[large] * 6000])
    assert seen[0] is large
    assert time.process_time() - began_s < 1.0  # 20 s, were each looked at


@pytest.mark.parametrize("kept", ["nothing", "polled", "list", "record"])
def test_what_a_reader_has_let_go_of_is_not_copied(kept: str) -> None:
    records = [{"a": [1]}, {"a": [2]}]
    same = [id(record) for record in records]
    keeper: Any = {"nothing": None, "list": records, "record": records[0]}.get(kept)
    polled = Records(records)
    if kept == "polled":
        keeper = polled
    del records
    owned, plain = BY_VALUE.owned(polled)
    wanted = {"nothing": [True, True], "record": [False, True]}.get(kept, [False, False])
    assert [id(record) == before for record, before in zip(owned, same, strict=True)] == wanted
    assert owned == [{"a": [1]}, {"a": [2]}]
    assert not plain
    del keeper


def test_a_row_of_numbers_shares_its_tuple_of_values() -> None:
    values = (1, 2)
    kept = make_row(values, None)
    known: list[int] = []

    def rows() -> Iterator[Row]:
        for row in map(make_row, [kept._values], [None]):
            known.append(id(row))
            del row
        yield make_row(kept._values, None)

    (seen,) = emitted(rows())
    assert seen._values is values


class Restored:
    """Says itself how it is copied."""

    def __init__(self) -> None:
        self.copies = 0


class ByReduceEx(Restored):
    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (), {"copies": self.copies + 1}


class ByState(Restored):
    def __getstate__(self) -> Any:
        return {"copies": self.copies + 1}


@pytest.mark.parametrize("kind", [ByReduceEx, ByState])
def test_a_class_that_says_how_it_is_copied_is_asked(kind: type[Restored]) -> None:
    held = kind()
    (seen,) = emitted(each for each in [held])
    assert seen is not held
    assert seen.copies == 1


def test_a_copy_of_a_row_keeps_its_kind_and_has_values_of_its_own() -> None:
    held = Row.of_kind(RowKind.UPDATE_BEFORE, a=1)
    seen = copied(held)
    assert seen == held
    held["a"] = 2
    assert seen.a == 1


@pytest.mark.parametrize("records", [[1, []], [(1,), [2]], [(1, [2])], [[]]], ids=repr)
def test_a_list_with_one_record_that_can_change_is_not_plain(records: list[Any]) -> None:
    assert not BY_VALUE.is_plain(records)
    assert BY_VALUE.is_plain([1, None])
    assert BY_VALUE.is_plain([(1, "a"), ()])


def test_what_is_known_of_classes_does_not_grow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_copies, "_KINDS_MAX", len(record_copies._KINDS))
    known = len(record_copies._KINDS)
    held = type("Made", (), {})()
    held.tags = 1
    (seen,) = emitted(each for each in [held])
    assert seen is not held
    assert seen.tags == 1
    assert len(record_copies._KINDS) == known
