"""The rules of list, map, reducing and aggregating state: None, empty, order, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.errors import ProgramError, StateAccessError
from headgate.state.descriptors import (
    AggregatingStateDescriptor,
    AppendingState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    MergingState,
    ReducingStateDescriptor,
    State,
)
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.types.typeinfo import Types
from tests.contract.backends.keyed_states import Gather
from tests.unit.state.backends import at, backend_of

ANY = Types.PICKLED_BYTE_ARRAY()


@pytest.fixture
def backend() -> HashMapBackend:
    return backend_of()


def list_state(backend: HashMapBackend) -> ListState[Any]:
    state: ListState[Any] = backend.state(ListStateDescriptor("visits", ANY))
    return state


def map_state(backend: HashMapBackend) -> MapState[Any, Any]:
    state: MapState[Any, Any] = backend.state(MapStateDescriptor("pages", Types.STRING(), ANY))
    return state


# --- list


def test_a_list_without_elements_is_an_empty_iterable(backend: HashMapBackend) -> None:
    state = list_state(backend)
    with at(backend, "k"):
        assert list(state.get()) == []
        assert list(state) == []


def test_elements_keep_the_order_in_which_they_were_added(backend: HashMapBackend) -> None:
    state = list_state(backend)
    with at(backend, "k"):
        state.add(3)
        state.add_all([1, 2])
        state.add(0)
        assert list(state) == [3, 1, 2, 0]
        state.update((9, 8))
        state.add(7)
        assert list(state.get()) == [9, 8, 7]


def test_adding_no_elements_changes_nothing_and_updating_to_none_clears(backend: HashMapBackend) -> None:
    state = list_state(backend)
    with at(backend, "k"):
        state.add_all([])
        assert list(state) == []
    assert len(backend) == 0
    with at(backend, "k"):
        state.add(1)
        state.add_all([])
        assert list(state) == [1]
        state.update([])
        assert list(state) == []
    assert len(backend) == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda state: state.add(None),
        lambda state: state.add_all(None),
        lambda state: state.add_all([1, None]),
        lambda state: state.update(None),
        lambda state: state.update([None, 1]),
    ],
)
def test_a_list_takes_no_none_and_is_as_it_was(backend: HashMapBackend, use: Callable[[Any], None]) -> None:
    state = list_state(backend)
    with at(backend, "k"):
        state.add(1)
        with pytest.raises(StateAccessError, match=r"of list state 'visits' got None.*or call clear\(\)"):
            use(state)
        assert list(state) == [1]


def test_false_elements_are_elements(backend: HashMapBackend) -> None:
    state = list_state(backend)
    with at(backend, "k"):
        state.add_all([0, "", False, [], ()])
        assert list(state) == [0, "", False, [], ()]


def test_what_was_got_and_what_was_given_are_not_the_state(backend: HashMapBackend) -> None:
    state = list_state(backend)
    given = [1, 2]
    with at(backend, "k"):
        state.update(given)
        given.append(3)
        got = state.get()
        state.add(4)
        for element in state.get():
            state.add(element)
        assert list(got) == [1, 2]
        assert list(state) == [1, 2, 4, 1, 2, 4]


def test_elements_that_cannot_be_compared_with_none_are_taken(backend: HashMapBackend) -> None:
    class Peculiar:
        def __eq__(self, other: object) -> bool:
            raise TypeError("no comparison")

        __hash__ = None  # type: ignore[assignment]

    state = list_state(backend)
    with at(backend, "k"):
        state.add_all(iter([Peculiar(), Peculiar()]))
        assert len(list(state)) == 2


# --- map


def test_a_missing_key_of_a_map_is_none_whatever_way_it_is_read(backend: HashMapBackend) -> None:
    state = map_state(backend)
    with at(backend, "k"):
        assert (state.get("x"), state["x"], state.contains("x"), "x" in state) == (None, None, False, False)
        assert (list(state.items()), list(state.keys()), list(state.values()), list(state)) == ([], [], [], [])
        assert state.is_empty()
        state.remove("x")
        del state["x"]


def test_a_map_is_used_like_a_dict(backend: HashMapBackend) -> None:
    state = map_state(backend)
    with at(backend, "k"):
        state["a"] = 1
        state.put("b", 2)
        state.put_all({"c": 3, "a": 0})
        assert dict(state.items()) == {"a": 0, "b": 2, "c": 3}
        assert sorted(state) == ["a", "b", "c"]
        del state["b"]
        assert sorted(state.values()) == [0, 3]
        assert not state.is_empty()


def test_none_is_a_value_of_a_map(backend: HashMapBackend) -> None:
    state = map_state(backend)
    with at(backend, "k"):
        state.put("a", None)
        assert (state.get("a"), state.contains("a"), state.is_empty()) == (None, True, False)
        assert list(state.items()) == [("a", None)]


def test_putting_all_of_none_does_nothing(backend: HashMapBackend) -> None:
    state = map_state(backend)
    with at(backend, "k"):
        state.put_all(None)
        state.put_all({})
    assert len(backend) == 0


def test_a_map_whose_last_key_is_removed_is_as_cleared(backend: HashMapBackend) -> None:
    state = map_state(backend)
    with at(backend, "k"):
        for number in range(1024):
            state.put(str(number), number)
        for key in state:
            state.remove(key)
        assert state.is_empty()
    assert list(backend.keys("pages")) == []
    assert len(backend) == 0


def test_a_map_may_change_while_one_goes_through_it(backend: HashMapBackend) -> None:
    state = map_state(backend)
    with at(backend, "k"):
        state.put_all({"a": 1, "b": 2, "c": 3})
        for key, value in state.items():
            state.put(key + key, value)
            state.remove(key)
        assert dict(state.items()) == {"aa": 1, "bb": 2, "cc": 3}


def test_a_key_that_cannot_be_hashed_leaves_no_trace(backend: HashMapBackend) -> None:
    state: MapState[Any, Any] = backend.state(MapStateDescriptor("pages", ANY, ANY))
    with at(backend, "k"), pytest.raises(TypeError, match="unhashable"):
        state.put([], 1)
    assert len(backend) == 0


# --- reducing and aggregating


def test_the_first_value_is_stored_as_it_is_and_later_ones_are_combined_with_it(backend: HashMapBackend) -> None:
    combined: list[tuple[int, int]] = []

    def subtract(one: int, other: int) -> int:
        combined.append((one, other))
        return one - other

    state = backend.state(ReducingStateDescriptor("rest", subtract, Types.LONG()))
    with at(backend, "k"):
        assert state.get() is None
        state.add(10)
        state.add(0)
        state.add(3)
        assert state.get() == 7
    assert combined == [(10, 0), (10, 3)]


def test_adding_none_clears_reducing_and_aggregating_state(backend: HashMapBackend) -> None:
    reducing = backend.state(ReducingStateDescriptor("r", max, Types.LONG()))
    aggregating = backend.state(AggregatingStateDescriptor("a", Gather(), ANY))
    with at(backend, "k"):
        for state in (reducing, aggregating):
            state.add(1)
            state.add(None)
            assert state.get() is None
    assert len(backend) == 0


def test_a_combination_that_is_none_clears(backend: HashMapBackend) -> None:
    state = backend.state(ReducingStateDescriptor("r", lambda one, other: None, Types.LONG()))
    with at(backend, "k"):
        state.add(1)
        state.add(2)
        assert state.get() is None
    assert len(backend) == 0


def test_an_aggregate_is_the_result_of_its_accumulator(backend: HashMapBackend) -> None:
    state = backend.state(AggregatingStateDescriptor("a", Gather(), ANY))
    with at(backend, "k"):
        assert state.get() is None
        state.add(1)
        state.add(0)
        assert state.get() == (1, 0)
        state.clear()
        assert state.get() is None


def test_an_aggregate_function_that_forgets_to_return_the_accumulator_is_named(backend: HashMapBackend) -> None:
    class Forgetful(Gather):
        def add(self, value: Any, accumulator: list[Any]) -> Any:
            accumulator.append(value)

    state = backend.state(AggregatingStateDescriptor("a", Forgetful(), ANY))
    with at(backend, "k"), pytest.raises(ProgramError, match="Forgetful, the function of aggregating state 'a'"):
        state.add(1)


def test_what_a_function_raises_comes_out_as_it_is(backend: HashMapBackend) -> None:
    state = backend.state(ReducingStateDescriptor("r", lambda one, other: one / other, Types.DOUBLE()))
    with at(backend, "k"):
        state.add(1)
        with pytest.raises(ZeroDivisionError):
            state.add(0)
        assert state.get() == 1


# --- all


@pytest.mark.parametrize(
    "use",
    [
        lambda backend: list_state(backend).get(),
        lambda backend: list_state(backend).add(1),
        lambda backend: list_state(backend).clear(),
        lambda backend: map_state(backend).get("a"),
        lambda backend: map_state(backend).put("a", 1),
        lambda backend: map_state(backend).is_empty(),
        lambda backend: map_state(backend).clear(),
        lambda backend: backend.state(ReducingStateDescriptor("r", max, Types.LONG())).add(1),
        lambda backend: backend.state(AggregatingStateDescriptor("a", Gather(), ANY)).get(),
    ],
)
def test_without_a_current_key_state_cannot_be_used(
    backend: HashMapBackend, use: Callable[[HashMapBackend], object]
) -> None:
    with pytest.raises(StateAccessError, match="without a current key"):
        use(backend)
    assert backend.emptied == []


def test_handles_are_what_type_annotations_call_them(backend: HashMapBackend) -> None:
    reducing = backend.state(ReducingStateDescriptor("r", max, Types.LONG()))
    assert isinstance(map_state(backend), State)
    assert not isinstance(map_state(backend), AppendingState)
    assert isinstance(list_state(backend), MergingState)
    assert isinstance(reducing, MergingState)
    assert repr(reducing) == "<reducing state 'r'>"
