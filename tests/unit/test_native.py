"""The compiled module does what the Python path does, for any value."""

from __future__ import annotations

import _thread
import datetime as dt
import gc
import itertools
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.common import Row
from headgate.dataflow.partition import RouteCache
from headgate.functions.source import Records
from headgate.types.instant import Instant
from headgate.types.output_tag import OutputTag
from headgate.types.record_copies import ATOMIC, BY_VALUE, Passing, copied, passing_by_value
from headgate.types.row import RowKind
from tests.compiled import compiled_module
from tests.leaks import check_nothing_is_left


@pytest.fixture(scope="module")
def compiled() -> Passing:
    return passing_by_value(compiled_module())


OF_EACH_ATOMIC_TYPE = [
    *(None, True, 7, 1.5, 1j, "a", b"a", ..., NotImplemented, range(2), int, sys, Fraction(1, 3), ZoneInfo("UTC")),
    *(dt.date(2026, 1, 2), dt.time(1), dt.datetime(2026, 1, 2), dt.timedelta(1), dt.UTC, Decimal("1.5"), UUID(int=1)),
    *(Instant(1, 2), OutputTag("late"), RowKind.INSERT),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.binary()
KEYS = st.integers() | st.text(max_size=2) | st.tuples(st.integers(), st.text(max_size=1))


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    few = st.lists(inner, max_size=3)
    rows = few.map(lambda items: Row(*items))
    return few | few.map(tuple) | st.dictionaries(KEYS, inner, max_size=3) | rows | st.sets(KEYS, max_size=2)


VALUES = st.recursive(SCALARS, containers, max_leaves=12)
ALL_WAYS = ["yielded", "listed", "tupled", "iterated", "mapped", "identity", "polled"]
WAYS = st.sampled_from(ALL_WAYS)
HELD = st.sampled_from(["nothing", "the record", "a part", "a part twice"])


def parts(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | set):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, Row):
        yield from value._values


def emitted(passing: Passing, way: str, make: Callable[[], Any]) -> list[Any]:
    """Return what comes out of a function that emits one record."""
    out: list[Any] = []
    if way == "mapped":
        return passing.mapped(lambda _: make(), iter([0]))[0]
    if way == "identity":
        return passing.mapped(lambda record: record, iter([make()]))[0]
    if way == "polled":
        polled = Records([make()])
        return passing.owned(polled)[0]
    if way == "yielded":
        passing.extend(out, (make() for _ in range(1)))
    elif way == "iterated":
        passing.extend(out, dict.fromkeys([0], make()).values())
    else:
        passing.extend(out, [make()] if way == "listed" else (make(),))
    return out


def fresh(value: Any) -> Any:
    """Return a copy in which no container is shared."""
    if isinstance(value, list | tuple | set):
        return type(value)(fresh(each) for each in value)
    if isinstance(value, dict):
        return {key: fresh(each) for key, each in value.items()}
    return Row(*map(fresh, value._values)) if isinstance(value, Row) else value


def shared(passing: Passing, value: Any, way: str, held: str) -> tuple[Any, bool, list[bool]]:
    """Return the record that arrives, and whether it, and each of its parts, is the very object that was made."""
    kept: list[Any] = []
    known: list[int] = []

    def make() -> Any:
        record = fresh(value)
        inner = list(parts(record))
        known.append(id(record))
        known.extend(map(id, inner))
        if held == "the record":
            kept.append(record)
        elif held.startswith("a part") and inner:
            kept.append(inner[0])
            if held == "a part twice" and isinstance(record, list):
                record.append(inner[0])
        return record

    (record,) = emitted(passing, way, make)
    return record, id(record) == known[0], [id(part) in known[1:] for part in parts(record)]


@given(VALUES, WAYS, HELD)
def test_the_same_is_copied_as_in_python(compiled: Passing, value: Any, way: str, held: str) -> None:
    here = shared(compiled, value, way, held)
    assert here[0] == fresh(value) or held == "a part twice"
    there = shared(BY_VALUE, value, way, held)
    assert repr(here) == repr(there)


@given(st.lists(VALUES, max_size=5))
def test_records_that_cannot_change_are_told_apart(compiled: Passing, values: list[Any]) -> None:
    wanted = all(BY_VALUE.is_plain([value]) for value in values)
    assert compiled.is_plain(values) == wanted
    assert compiled.mapped(lambda value: value, iter(values)) == (values, wanted)
    assert compiled.owned(Records(values)) == (values, wanted)


class Broken:
    """Says how it is copied, and fails."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise ValueError("no copy")


def fails_after(count: int) -> Iterator[Any]:
    for number in range(count):
        yield [number]
    raise ValueError("no more")


def test_errors_are_those_of_the_python_path_and_what_came_before_stays(compiled: Passing) -> None:
    held = Broken()
    for passing in (compiled, BY_VALUE):
        out: list[Any] = []
        with pytest.raises(ValueError, match="no more"):
            passing.extend(out, fails_after(2))
        assert out == [[0], [1]]
        with pytest.raises(TypeError, match="Broken cannot be copied"):
            passing.extend(out, [[2], held])
        assert out == [[0], [1], [2]]
        with pytest.raises(TypeError, match="'int' object is not iterable"):
            passing.extend(out, 5)  # type: ignore[arg-type]
        position = iter([1, 2, 0, 3])
        with pytest.raises(ZeroDivisionError):
            passing.mapped(lambda number: 1 / number, position)
        assert list(position) == [3], "the iterator tells which record failed"


def test_wrong_arguments_are_refused(compiled: Passing) -> None:
    with pytest.raises(TypeError, match="no iterator"):
        compiled.mapped(str, [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a list, not to tuple"):
        compiled.extend((), [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes 2 arguments"):
        compiled.extend([])  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="records"):
        compiled.owned(5)  # type: ignore[arg-type]


def test_dealing_refuses_what_does_not_fit() -> None:
    module = compiled_module()
    for keys, records, times, wrong in (
        (["a", "a"], [1], None, "more keys"),
        (["a"], [1, 2], None, "fewer keys"),
        (["a", "a"], [1, 2], [5], "more keys"),
        (["b"], [1], None, "channel 2 of 2"),
        (["c"], [1], None, "'c'"),
    ):
        with pytest.raises((ValueError, IndexError, KeyError), match=wrong):
            module.deal(128, {"a": 1, "b": 2}, iter(keys), records, times, 2)
    assert module.deal(128, {"a": 99}, iter("aa"), [1, 2], [3, 4], 100) == [(99, [1, 2], [3, 4], ["a", "a"])]
    for max_parallelism, routes in ((128, []), (1, {}), (2**15 + 1, {})):
        with pytest.raises(TypeError, match="takes a max parallelism, a dict"):
            module.deal(max_parallelism, routes, iter("a"), [1], None, 2)


def test_the_channels_of_numbers_fill_no_cache() -> None:
    module = compiled_module()
    routes = RouteCache(3, 128)
    numbers = [-(2**31), -1, 0, 1, 2**31 - 1]
    others = [-(2**31) - 1, 2**31, 2**63, -(2**63) - 1, "1"]
    dealt = module.deal(128, routes, iter(numbers + others), numbers + others, None, 3)
    assert list(routes) == others
    assert {key: channel for channel, _, _, keys in dealt for key in keys} == {
        key: routes[key] for key in numbers + others
    }


def test_a_copy_that_shrinks_the_list_of_results_ends_it(compiled: Passing) -> None:
    results: list[Any] = []

    class Shrinks:
        def __reduce_ex__(self, protocol: Any) -> Any:
            results.clear()
            return str, ("copied",)

    results += [Shrinks(), [1], [2]]
    out: list[Any] = []
    compiled.extend(out, results)
    assert out == ["copied"]


def test_deep_and_cyclic_records_are_left_to_python(compiled: Passing) -> None:
    held: Any = []
    for _ in range(200):
        held = [held]
    (one,) = emitted(compiled, "listed", lambda: held)
    assert one == held
    assert one is not held
    known: list[int] = []

    def made() -> Any:
        record: Any = {"a": [1]}
        for _ in range(5_000):
            record = [record]
        known.append(id(record))
        return record

    assert [id(each) for each in emitted(compiled, "yielded", made)] == known

    def cyclic() -> Any:
        record: list[Any] = [1]
        record.append(record)
        return record

    (found,) = emitted(compiled, "yielded", cyclic)
    assert found[1] is found


class MyList(list[Any]):
    """A list that may be more than its items."""


class MyDict(dict[Any, Any]):
    pass


def has_passed(passing: Passing, way: str, make: Callable[[], Any], holders: int) -> bool:
    """Return whether the record that arrives is the one that was made, which so many variables hold."""
    kept: list[Any] = []
    known: list[int] = []

    def made() -> Any:
        record = make()
        kept.extend([record] * holders)
        known.append(id(record))
        return record

    if way == "polled, in a tuple":
        polled: Any = SimpleNamespace(records=(made(),))
        out = passing.owned(polled)[0]
    elif way == "in a list of another class":
        out = []
        results = MyList([made()])
        passing.extend(out, results)
    else:
        out = emitted(passing, way, made)
    return id(out[0]) == known[0]


SHAPES: list[Callable[[], Any]] = [
    *(lambda: [1], lambda: {"a": 1}, lambda: ([1], 2), lambda: [[1]], lambda: Row([1]), lambda: {1}),
    *(lambda: MyDict(a=1), lambda: [MyDict(a=1)], lambda: ([1], MyList([1])), lambda: {"a": MyDict()}),
]


@pytest.mark.parametrize("way", [*ALL_WAYS, "polled, in a tuple", "in a list of another class"])
def test_each_way_copies_as_in_python_whoever_holds_the_record(compiled: Passing, way: str) -> None:
    for make in SHAPES:
        for holders in (0, 1, 2):
            wanted = has_passed(BY_VALUE, way, make, holders)
            assert has_passed(compiled, way, make, holders) == wanted, (make(), holders)


@pytest.mark.parametrize("depth", [0, 1, 62, 63, 64, 65, 66, 200])
def test_what_is_held_deep_inside_is_copied(compiled: Passing, depth: int) -> None:
    inner = [1]
    record: Any = inner
    for _ in range(depth):
        record = [record]
    results = [[record]]
    del record
    out: list[Any] = []
    compiled.extend(out, results)
    found = out[0]
    for _ in range(depth + 1):
        found = found[0]
    assert found == [1]
    assert found is not inner


def test_all_types_whose_values_cannot_change_are_known(compiled: Passing) -> None:
    assert {type(value) for value in OF_EACH_ATOMIC_TYPE} | {type(dt.UTC), type} == ATOMIC
    for value in OF_EACH_ATOMIC_TYPE:
        assert compiled.is_plain([value, (value, 1), (1, value)])
        assert compiled.owned(Records([value])) == ([value], True)
        assert compiled.owned(SimpleNamespace(records=(value, [1]))) == ([value, [1]], False)


def test_python_is_asked_only_about_other_types() -> None:
    module = compiled_module()
    asked: list[Any] = []

    def is_alone(value: Any) -> bool:
        asked.append(value)
        return True

    ownership = module.Ownership(ATOMIC, copied, is_alone, 2)
    shared = (1, "a")
    makers: list[Callable[[], Any]] = [
        *(lambda: [1], lambda: {"a": [1]}, lambda: ([1], (2, [3])), lambda: {(1, "a"): [shared]}),
        *(lambda: [shared, shared], lambda: [[[[[1]]]]]),
    ]
    for make in makers:
        ownership.extend([], [make()])
    assert asked == []
    ownership.extend([], [{1}])
    assert asked == [{1}]


class Unhashable(type):
    def __eq__(cls, other: object) -> bool:
        return cls is other

    __hash__ = None  # type: ignore[assignment]


def test_an_error_of_the_look_itself_is_raised_and_nothing_is_added(compiled: Passing) -> None:
    made = Unhashable("Made", (), {})
    out: list[Any] = []
    for results in ((made() for _ in range(1)), dict.fromkeys([0], made()).values(), [made()]):
        with pytest.raises(TypeError, match="unhashable"):
            compiled.extend(out, results)
    with pytest.raises(TypeError, match="unhashable"):
        compiled.mapped(lambda _: made(), iter([0]))
    assert out == []


def test_a_property_that_keeps_what_was_polled_is_noticed(compiled: Passing) -> None:
    kept: list[Any] = []

    class Polled:
        def __init__(self) -> None:
            self.own = [[1]]

        @property
        def records(self) -> list[Any]:
            kept.append(self)
            return self.own

    polled = Polled()
    (record,) = compiled.owned(polled)[0]
    assert record is not kept[0].own[0]


def test_tuples_that_zip_uses_again_are_new_each_time(compiled: Passing) -> None:
    copies = []
    for passing in (compiled, BY_VALUE):
        made: list[int] = []

        def noted(number: int, made: list[int] = made) -> list[int]:
            record = [number]
            made.append(id(record))
            return record

        out: list[Any] = []
        passing.extend(out, enumerate(map(noted, range(20))))
        assert out == [(number, [number]) for number in range(20)]
        copies.append([id(record) != before for (_, record), before in zip(out, made, strict=True)])
    assert copies[0] == copies[1]


@pytest.mark.slow
def test_other_threads_and_signals_have_their_turn_while_many_records_are_added(compiled: Passing) -> None:
    out: list[Any] = []

    def interrupt() -> None:
        while not out:
            time.sleep(0.001)
        _thread.interrupt_main()

    # Where a shell has started the tests in the background, Python ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled.extend(out, itertools.repeat(1, 200_000_000))
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert len(out) < 200_000_000


def test_an_ownership_is_collected_with_what_it_refers_to() -> None:
    module = compiled_module()

    class Copies:
        ownership: Any

    copies = Copies()
    copies.ownership = module.Ownership(ATOMIC, copies, copies, 2)
    seen = weakref.ref(copies)
    del copies
    gc.collect()
    assert seen() is None
    copies = Copies()
    before = sys.getrefcount(module.Ownership), sys.getrefcount(copies)
    for _ in range(100):
        module.Ownership(ATOMIC, copies, copies, 2)
    assert (sys.getrefcount(module.Ownership), sys.getrefcount(copies)) == before


def test_an_ownership_refuses_wrong_types() -> None:
    module = compiled_module()

    class Endless(frozenset[type]):
        def __iter__(self) -> Iterator[type]:
            return iter([int] * 100_000)

    for wrong in (Endless([int]), {int}, frozenset([5])):
        with pytest.raises(TypeError, match="atomic type"):
            module.Ownership(wrong, copied, copied, 2)
    with pytest.raises(ValueError, match="65 atomic types"):
        module.Ownership(frozenset(type(f"T{number}", (), {}) for number in range(65)), copied, copied, 2)
    with pytest.raises(TypeError, match="argument"):
        module.Ownership(ATOMIC, copied, copied, 2, nonsense=1)


@pytest.mark.slow
def test_no_reference_and_no_object_is_left_behind(compiled: Passing) -> None:
    held = {"a": [1]}
    shape = [(1, "a"), {"a": [1, (2, [3])]}, held, Row(1, [2])]

    def all_ways() -> None:
        for way in ALL_WAYS:
            for value in shape:
                emitted(compiled, way, partial(fresh, value))
                emitted(compiled, way, [value].pop)
        with pytest.raises(ZeroDivisionError):
            compiled.mapped(lambda number: 1 / number, iter([1, 0]))
        with pytest.raises(TypeError):
            compiled.owned(Records([1000.5, Broken()]))
        compiled.owned(SimpleNamespace(records=((1,), 2)))

    check_nothing_is_left(all_ways, 200, [held])
