"""A value that is not of a state's declared type is refused when it is written, with the state's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from headgate.common import Time, Types
from headgate.datastream.functions import AggregateFunction
from headgate.errors import StateAccessError
from headgate.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headgate.state.operator.operator_state import OperatorStateStore
from headgate.state.ttl import StateTtlConfig
from tests.unit.state.backends import at, backend_of

LONG: Final = Types.LONG()


class Bad(AggregateFunction):
    """Makes a text of what it adds up, unless it adds 1."""

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + 1 if value == 1 else "text"

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


WRITES: Final[list[tuple[StateDescriptor, Callable[[Any], Any], Callable[[Any], Any], str]]] = [
    (ValueStateDescriptor("s", LONG), lambda s: s.update(1), lambda s: s.update("text"), "value state 's'"),
    (ListStateDescriptor("s", LONG), lambda s: s.add(1), lambda s: s.add("text"), "list state 's'"),
    (ListStateDescriptor("s", LONG), lambda s: s.add_all([1]), lambda s: s.add_all([1, "text"]), "list state 's'"),
    (ListStateDescriptor("s", LONG), lambda s: s.update([1]), lambda s: s.update([1, "text"]), "list state 's'"),
    (MapStateDescriptor("s", LONG, LONG), lambda s: s.put(1, 1), lambda s: s.put(1, "text"), "map state 's'"),
    (MapStateDescriptor("s", LONG, LONG), lambda s: s.put(1, 1), lambda s: s.put("text", 1), "map state 's'"),
    (MapStateDescriptor("s", LONG, LONG), lambda s: s.put(1, 1), lambda s: s.put_all({1: "text"}), "map state 's'"),
    (ReducingStateDescriptor("s", max, LONG), lambda s: s.add(1), lambda s: s.clear() or s.add("text"), "reducing"),
    (ReducingStateDescriptor("s", lambda a, b: "text", LONG), lambda s: s.add(1), lambda s: s.add(1), "reducing"),
    (AggregatingStateDescriptor("s", Bad(), LONG), lambda s: s.add(1), lambda s: s.add(2), "aggregating state 's'"),
]


@pytest.mark.parametrize("expires", [False, True])
@pytest.mark.parametrize(("descriptor", "write", "write_wrong", "named"), WRITES)
def test_a_value_of_another_type_is_refused_and_changes_nothing(
    descriptor: StateDescriptor,
    write: Callable[[Any], Any],
    write_wrong: Callable[[Any], Any],
    named: str,
    expires: bool,
) -> None:
    descriptor.ttl = StateTtlConfig.new_builder(Time.hours(1)).build() if expires else None
    backend = backend_of()
    state: Any = backend.state(descriptor)
    with at(backend, "k"):
        write(state)
        before = _contents(state)
        refusal = r"declared with Long and was given a (value|key) of type str: 'text'"
        with pytest.raises(StateAccessError, match=refusal) as caught:
            write_wrong(state)
        assert named in str(caught.value)
        assert "Types.STRING()" in str(caught.value)
        assert _contents(state) in (before, None)


def _contents(state: Any) -> Any:
    if hasattr(state, "value"):
        return state.value()
    return dict(state.items()) if hasattr(state, "items") else state.get()


def test_values_of_classes_in_turn_are_all_looked_at() -> None:
    backend = backend_of()
    state: Any = backend.state(ValueStateDescriptor("s", Types.DOUBLE()))
    with at(backend, "k"):
        for value in (1.5, 1, True, 2.5):
            state.update(value)
            assert state.value() is value
            with pytest.raises(StateAccessError):
                state.update("text")
        state.update(None)
        assert state.value() is None


def test_none_is_a_value_and_a_key_of_a_map() -> None:
    backend = backend_of()
    state: Any = backend.state(MapStateDescriptor("s", LONG, LONG))
    with at(backend, "k"):
        state.put(None, None)
        state.put(1, None)
        assert dict(state.items()) == {None: None, 1: None}


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.get_list_state(ListStateDescriptor("s", LONG)).add("text"),
        lambda store: store.get_list_state(ListStateDescriptor("s", LONG)).update([1, "text"]),
        lambda store: store.get_union_list_state(ListStateDescriptor("s", LONG)).add_all(["text"]),
        lambda store: store.get_broadcast_state(MapStateDescriptor("s", LONG, LONG)).put(1, "text"),
        lambda store: store.get_broadcast_state(MapStateDescriptor("s", LONG, LONG)).put_all({"text": 1}),
    ],
)
def test_operator_state_takes_its_type_only(write: Callable[[OperatorStateStore], None]) -> None:
    store = OperatorStateStore("op", 0)
    with pytest.raises(StateAccessError, match="state 's' is declared with Long and was given a"):
        write(store)
