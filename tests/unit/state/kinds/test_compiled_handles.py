"""Compiled handles do what those in Python do, with any values, cells and contents."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.common import Row
from headgate.datastream import AggregateFunction
from headgate.errors import StateAccessError
from headgate.state.backend import KeyedBackend, open_backend
from headgate.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headgate.types.by_value import dumps
from headgate.types.typeinfo import TypeInformation, Types
from tests.compiled import compiled_module
from tests.unit.state.backends import at, context_of


class Gather(AggregateFunction):
    """Gathers values in a list in place, and does what some values say."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value)
        if value == "none":
            return None
        if value == "fails":
            raise ValueError(value)
        return tuple(accumulator) if value == "tuple" else accumulator

    def get_result(self, accumulator: Any) -> Any:
        if "no result" in accumulator:
            raise ValueError("no result")
        return list(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Created(Gather):
    def create_accumulator(self) -> Any:
        return None


def combined(one: Any, other: Any) -> Any:
    return None if other == "" else one + other


COMPILED = [
    ValueStateDescriptor("v", Types.LONG()),
    ListStateDescriptor("l", Types.LONG()),
    MapStateDescriptor("m", Types.STRING(), Types.LONG()),
    ReducingStateDescriptor("r", max, Types.LONG()),
    AggregatingStateDescriptor("a", Gather(), Types.PICKLED_BYTE_ARRAY()),
]
"""A state of each kind whose handles are compiled."""


def opened(native: str, backend: str = "hashmap") -> KeyedBackend:
    compiled_module()
    return open_backend(context_of(settings={"headgate.native": native, "state.backend.type": backend}))


@pytest.mark.parametrize("descriptor", COMPILED, ids=str)
def test_handles_are_compiled_where_the_job_is(descriptor: StateDescriptor) -> None:
    here: Any = opened("on").state(descriptor)
    there: Any = opened("off").state(descriptor)
    assert type(here).__module__ == "headgate._native"
    assert type(there).__module__ == type(descriptor).__module__
    public: Any = type(there).__mro__[2]
    assert issubclass(type(here), public)
    assert repr(here) == repr(there)
    assert here.column == there.column
    assert not hasattr(here, "__dict__")


class MyInt(int):
    pass


NAMED = Types.ROW_NAMED(["a"], [Types.LONG()])
VALUES = st.one_of(
    st.none(),
    st.integers(-2, 2),
    st.booleans(),
    st.text(max_size=2),
    st.floats(allow_nan=False),
    st.sampled_from([Row(1), Row(a=2), MyInt(3), (1, "a"), [1], {"a": 1}, 2**70]),
)
TYPES = [Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY(), NAMED]
KEYS = st.sampled_from(["a", "b"])

Use = tuple[str, Any]


def outcomes(backend: KeyedBackend, descriptor: StateDescriptor, uses: list[Use]) -> list[Any]:
    """Return what each use of the state returns or raises, and what the cells hold after each batch."""
    state: Any = backend.state(descriptor)
    seen: list[Any] = []
    for method, arguments in uses:
        if method == "enter":
            cell = backend.cells.get(arguments)
            backend.current.cell = backend.enter(arguments, cell)
        elif method == "leave":
            backend.leave()
            form, column = descriptor.kind.form, state.column
            contents = ((key, cell[column]) for key, cell in backend.cells.items())
            seen.append(repr([(key, form.plain(content)) for key, content in contents if content is not None]))
        else:
            names = {} if type(arguments) is tuple else arguments
            try:
                result = getattr(state, method)(*(() if names else arguments), **names)
                seen.append((method, repr(result), type(result)))
            except Exception as error:  # noqa: BLE001  # whatever it is, it is to be the same
                seen.append((method, type(error), str(error)))
        seen.append(len(backend.emptied))
    return seen


COMMON = st.one_of(
    KEYS.map(lambda key: ("enter", key)),
    KEYS.map(lambda key: ("enter", key)),
    st.just(("leave", None)),
    st.just(("clear", ())),
)


ON_EACH_BACKEND = pytest.mark.parametrize("backend", ["hashmap", pytest.param("rocksdb", marks=pytest.mark.slow)])


def check(backend: str, descriptor: Callable[[], StateDescriptor], uses: list[Use]) -> None:
    there = outcomes(opened("off", backend), descriptor(), uses)
    assert outcomes(opened("on", backend), descriptor(), uses) == there


BY_NAME = st.sampled_from(
    [{"value": 1}, {"value": None}, {"key": 1}, {"key": "k"}, {"key": "k", "value": 1}, {"values": [1]}]
)
WRONGLY = st.one_of(BY_NAME, st.sampled_from([(), (1, 2), (1, 2, 3)]))


def also_wrongly(*methods: str) -> st.SearchStrategy[Use]:
    """Return uses of methods with arguments by name, and with wrong ones."""
    return st.tuples(st.sampled_from(methods), WRONGLY)


VALUE_USES = st.one_of(
    also_wrongly("update"), COMMON, st.just(("value", ())), VALUES.map(lambda value: ("update", (value,)))
)


@ON_EACH_BACKEND
@given(st.lists(VALUE_USES, max_size=20), st.sampled_from(TYPES))
def test_value_state(backend: str, uses: list[Use], declared: TypeInformation) -> None:
    check(backend, lambda: ValueStateDescriptor("v", declared), uses)


LIST_USES = st.one_of(
    also_wrongly("add", "update"),
    COMMON,
    st.just(("get", ())),
    VALUES.map(lambda value: ("add", (value,))),
    st.lists(VALUES, max_size=3).map(lambda values: ("add_all", (values,))),
    st.lists(VALUES, max_size=3).map(lambda values: ("update", (values,))),
)


@ON_EACH_BACKEND
@given(st.lists(LIST_USES, max_size=20), st.sampled_from(TYPES))
def test_list_state(backend: str, uses: list[Use], declared: TypeInformation) -> None:
    check(backend, lambda: ListStateDescriptor("l", declared), uses)


MAP_KEYS = st.one_of(VALUES, st.sampled_from(["k", "k", "m"]))
MAP_USES = st.one_of(
    also_wrongly("get", "put", "contains", "remove"),
    COMMON,
    st.sampled_from(
        [("items", ()), ("keys", ()), ("values", ()), ("is_empty", ()), ("put", ("k",)), ("put_all", (None,))]
    ),
    st.tuples(MAP_KEYS, VALUES).map(lambda entry: ("put", entry)),
    st.tuples(MAP_KEYS, VALUES).map(lambda entry: ("__setitem__", entry)),
    st.tuples(
        st.sampled_from(["get", "contains", "remove", "__getitem__", "__contains__", "__delitem__"]), MAP_KEYS
    ).map(lambda use: (use[0], (use[1],))),
)


@ON_EACH_BACKEND
@given(st.lists(MAP_USES, max_size=20), st.sampled_from(TYPES), st.sampled_from(TYPES[:3]))
def test_map_state(backend: str, uses: list[Use], declared: TypeInformation, keys: TypeInformation) -> None:
    check(backend, lambda: MapStateDescriptor("m", keys, declared), uses)


ADDED = st.one_of(VALUES, st.sampled_from(["none", "fails", "tuple", "no result", "x", ""]))
ADDING_USES = st.one_of(also_wrongly("add"), COMMON, st.just(("get", ())), ADDED.map(lambda value: ("add", (value,))))


@ON_EACH_BACKEND
@given(st.lists(ADDING_USES, max_size=20), st.sampled_from(TYPES))
def test_reducing_state(backend: str, uses: list[Use], declared: TypeInformation) -> None:
    check(backend, lambda: ReducingStateDescriptor("r", combined, declared), uses)


@ON_EACH_BACKEND
@given(
    st.lists(ADDING_USES, max_size=20),
    st.sampled_from([Types.LIST(Types.STRING()), Types.STRING(), Types.PICKLED_BYTE_ARRAY()]),
)
def test_aggregating_state(backend: str, uses: list[Use], declared: TypeInformation) -> None:
    check(backend, lambda: AggregatingStateDescriptor("a", Gather(), declared), uses)
    check(backend, lambda: AggregatingStateDescriptor("a", Created(), declared), uses)


@pytest.mark.parametrize("native", ["off", "on"])
def test_an_accumulator_of_another_type_is_refused_and_nothing_is_stored(native: str) -> None:
    backend = opened(native)
    state = backend.state(AggregatingStateDescriptor("a", Gather(), Types.STRING()))
    with at(backend, "a"):
        with pytest.raises(StateAccessError, match="aggregating state 'a' is declared with String"):
            state.add("gathered in a list")
        assert state.get() is None


# --- hostile surroundings


@pytest.mark.parametrize("descriptor", COMPILED, ids=str)
def test_handles_are_neither_pickled_nor_copied(descriptor: StateDescriptor) -> None:
    for native in ("off", "on"):
        state = opened(native).state(descriptor)
        for attempt in (pickle.dumps, dumps, copy.copy, copy.deepcopy, lambda each: dumps(lambda: each)):
            with pytest.raises(TypeError, match="get the state in open"):
                attempt(state)


def test_nothing_compiled_is_pickled() -> None:
    native = compiled_module()
    backend = opened("on")
    for each in (backend.current, native.KeyedLoop(backend, list.extend)):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(each)
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(type(backend.state(COMPILED[0])))


def test_a_value_that_uses_the_state_when_it_is_released_finds_the_new_one() -> None:
    backend = opened("on")
    state = backend.state(ValueStateDescriptor("v", Types.PICKLED_BYTE_ARRAY()))
    found: list[Any] = []

    class Released:
        def __del__(self) -> None:
            found.append(state.value())
            backend.current.cell = [1]

    with at(backend, "a"):
        state.update(Released())
        state.update("new")
        assert found == ["new"]
        with pytest.raises(IndexError):
            state.value()
        with pytest.raises(IndexError):
            state.update("new")
        with pytest.raises(IndexError):
            state.clear()


def test_a_handle_refuses_what_does_not_fit() -> None:
    native = compiled_module()
    kind = native.value_handle(ValueState)
    current = native.Current([0], [])
    with pytest.raises(TypeError, match="Current"):
        kind("v", None, object(), 0, None, None)
    with pytest.raises(ValueError, match="column -1"):
        kind("v", None, current, -1, None, None)
    with pytest.raises(TypeError, match="argument"):
        kind()
    with pytest.raises(TypeError, match="without attributes"):
        native.value_handle(int)
    with pytest.raises(TypeError, match="without attributes"):
        native.value_handle(5)
    with pytest.raises(TypeError, match="list"):
        native.Current([0], ())
    state = kind("v", None, current, 0, None, None)
    for name in ("_name", "_owner", "_current", "_column", "_type_check"):
        with pytest.raises(AttributeError):
            setattr(state, name, 5)
    del current.cell
    for use in (state.value, state.clear, lambda: state.update(None)):
        with pytest.raises(AttributeError, match="cell"):
            use()
    del state._fitting
    current.cell = [7]
    with pytest.raises(AttributeError):
        state.update(5)
    assert state.value() == 7


def test_a_handle_is_collected_with_what_it_refers_to() -> None:
    native = compiled_module()

    class Owner:
        state: Any

    owner = Owner()
    current = native.Current([owner], [owner])
    owner.state = native.value_handle(ValueState)("v", owner, current, 0, owner, owner)
    seen = weakref.ref(owner)
    del owner, current
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("native", ["off", "on"])
def test_no_reference_is_left_behind(native: str) -> None:
    backend = opened(native)
    state = backend.state(ValueStateDescriptor("v", Types.PICKLED_BYTE_ARRAY()))
    typed = backend.state(ValueStateDescriptor("typed", Types.LONG()))
    held, kinds = ["held"], (MyInt, list, type(None))

    def use() -> None:
        for value in (held, None, held, MyInt(3), held):
            state.update(value)
            assert state.value() == value
        with pytest.raises(Exception, match="was given"):
            typed.update("no number")
        typed.update(5)
        typed.clear()

    with at(backend, "a"):
        for _ in range(10):
            use()
        before = sys.getrefcount(held), [sys.getrefcount(kind) for kind in kinds]
        for _ in range(1000):
            use()
        backend.emptied.clear()
        after = sys.getrefcount(held), [sys.getrefcount(kind) for kind in kinds]
    assert all(abs(now - then) < 50 for now, then in zip([after[0], *after[1]], [before[0], *before[1]], strict=True))
