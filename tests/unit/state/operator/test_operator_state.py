"""Operator state: modes, names and types, what a snapshot holds, what a restore refuses."""

from __future__ import annotations

import pickle
import threading
from fractions import Fraction
from typing import Any

import pytest

from headgate.common.time import Time
from headgate.errors import ProgramError, RestoreError, SerializationError, StateAccessError
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.state.operator.operator_state import OperatorListState, OperatorStateStore
from headgate.state.ttl import StateTtlConfig
from headgate.types.typeinfo import Types

LONGS = ListStateDescriptor("longs", Types.LONG())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def store(restored: dict[str, ListElements] | None = None, subtask: int = 0) -> OperatorStateStore:
    return OperatorStateStore("op", subtask, restored)


def saved(mode: ListMode, *values: Any) -> dict[str, ListElements]:
    """Return a snapshot of the state `longs` or `rules` with these values."""
    old = store()
    if mode is ListMode.BROADCAST:
        old.get_broadcast_state(RULES).put_all(dict(values))
    elif mode is ListMode.UNION:
        old.get_union_list_state(LONGS).update(values)
    else:
        old.get_list_state(LONGS).update(values)
    return old.snapshot()


# --- lists


def test_a_list_has_no_elements_until_some_are_added() -> None:
    state = store().get_list_state(LONGS)
    assert (state.get(), len(state), list(state)) == ([], 0, [])


def test_elements_are_added_replaced_and_removed_in_order() -> None:
    state = store().get_list_state(LONGS)
    state.add(1)
    state.add_all(iter([2, 3]))
    assert state.get() == [1, 2, 3]
    state.update([4])
    assert state.get() == [4]
    state.clear()
    assert state.get() == []


def test_a_list_can_be_rewritten_from_itself() -> None:
    state = store().get_list_state(LONGS)
    state.add_all([1, 2, 3])
    state.update(value for value in state if value > 1)
    assert state.get() == [2, 3]


def test_the_list_that_is_handed_out_is_a_copy() -> None:
    state = store().get_list_state(LONGS)
    state.get().append(1)
    assert state.get() == []


@pytest.mark.parametrize("write", [OperatorListState.add, OperatorListState.add_all, OperatorListState.update])
def test_none_is_no_element_and_no_list(write: Any) -> None:
    state = store().get_list_state(LONGS)
    with pytest.raises(StateAccessError, match="'longs': None"):
        write(state, None)


@pytest.mark.parametrize("write", [OperatorListState.add_all, OperatorListState.update])
def test_a_list_with_none_in_it_changes_nothing(write: Any) -> None:
    state = store().get_list_state(LONGS)
    state.add(1)
    with pytest.raises(StateAccessError, match="None cannot be an element"):
        write(state, [2, None])
    assert state.get() == [1]


# --- names


def test_the_same_name_gives_the_same_state() -> None:
    states = store()
    assert states.get_list_state(LONGS) is states.get_list_state(ListStateDescriptor("longs", Types.LONG()))
    assert states.get_broadcast_state(RULES) is states.get_broadcast_state(
        MapStateDescriptor("rules", Types.STRING(), Types.LONG())
    )


def test_a_name_cannot_be_used_for_two_modes() -> None:
    states = store()
    states.get_list_state(LONGS)
    with pytest.raises(ProgramError, match=r"as operator list state of .* and as union list state of"):
        states.get_union_list_state(LONGS)
    with pytest.raises(ProgramError, match="as broadcast state"):
        states.get_broadcast_state(MapStateDescriptor("longs", Types.LONG(), Types.LONG()))


def test_a_name_cannot_be_used_for_two_types() -> None:
    states = store()
    states.get_list_state(LONGS)
    with pytest.raises(ProgramError, match="'longs' twice"):
        states.get_list_state(ListStateDescriptor("longs", Types.STRING()))


def test_a_descriptor_of_another_kind_is_refused() -> None:
    with pytest.raises(ProgramError, match="needs a ListStateDescriptor"):
        store().get_list_state(RULES)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs a MapStateDescriptor"):
        store().get_broadcast_state(LONGS)  # type: ignore[arg-type]


def test_operator_state_has_no_time_to_live() -> None:
    descriptor = ListStateDescriptor("longs", Types.LONG())
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    with pytest.raises(ProgramError, match="time to live"):
        store().get_list_state(descriptor)


# --- snapshots


def test_a_snapshot_holds_the_elements_one_by_one_with_their_mode() -> None:
    taken = saved(ListMode.UNION, 1, 2)["longs"]
    assert taken.mode is ListMode.UNION
    assert taken.elements == [pickle.dumps(1, 5), pickle.dumps(2, 5)]


def test_what_changes_after_a_snapshot_is_not_in_it() -> None:
    states = store()
    state = states.get_list_state(ListStateDescriptor("lists", Types.LIST(Types.LONG())))
    value = [1]
    state.add(value)
    taken = states.snapshot()
    value.append(2)
    state.add([3])
    assert taken["lists"].values("state", {}) == [[1]]


@pytest.mark.parametrize("mode", [ListMode.SPLIT, ListMode.UNION])
def test_a_restored_list_goes_on_with_its_elements(mode: ListMode) -> None:
    states = store(saved(mode, 1, 2))
    state = states.get_list_state(LONGS) if mode is ListMode.SPLIT else states.get_union_list_state(LONGS)
    state.add(3)
    assert state.get() == [1, 2, 3]
    assert states.snapshot()["longs"].values("state", {}) == [1, 2, 3]


def test_a_restored_broadcast_state_goes_on_with_its_entries() -> None:
    states = store(saved(ListMode.BROADCAST, ("a", 1), ("b", 2)))
    rules = states.get_broadcast_state(RULES)
    rules.remove("a")
    rules["c"] = 3
    assert sorted(states.snapshot()["rules"].values("state", {})) == [("b", 2), ("c", 3)]


def test_an_element_that_cannot_be_pickled_is_told_with_its_state() -> None:
    states = store()
    states.get_list_state(ListStateDescriptor("locks", Types.PICKLED_BYTE_ARRAY())).add(threading.Lock())
    with pytest.raises(SerializationError, match=r"operator 'op': operator list state 'locks' holds a lock"):
        states.snapshot()


def test_an_entry_that_cannot_be_pickled_is_told_with_its_key() -> None:
    states = store()
    rules = states.get_broadcast_state(MapStateDescriptor("rules", Types.STRING(), Types.PICKLED_BYTE_ARRAY()))
    rules.put("r", threading.Lock())
    with pytest.raises(SerializationError, match="broadcast state 'rules' holds an entry for key 'r'"):
        states.snapshot()


# --- restore against another declaration


def test_a_restored_name_cannot_change_its_mode() -> None:
    with pytest.raises(RestoreError, match=r"'longs' was saved as operator list state.*declared as union list state"):
        store(saved(ListMode.SPLIT, 1)).get_union_list_state(LONGS)


def test_a_mode_is_checked_by_a_subtask_that_got_no_elements() -> None:
    with pytest.raises(RestoreError, match="was saved as union list state"):
        store(saved(ListMode.UNION)).get_list_state(LONGS)


def test_a_restored_name_cannot_change_to_a_type_that_does_not_fit() -> None:
    with pytest.raises(RestoreError, match=r"operator 'op': state 'longs' was saved as .*Long.* String"):
        store(saved(ListMode.SPLIT, 1)).get_list_state(ListStateDescriptor("longs", Types.STRING()))


def test_a_wider_type_takes_the_restored_elements() -> None:
    old = store()
    old.get_list_state(ListStateDescriptor("n", Types.INT())).add(1)
    assert store(old.snapshot()).get_list_state(ListStateDescriptor("n", Types.LONG())).get() == [1]


def test_a_row_gets_the_fields_that_were_added() -> None:
    old = store()
    old.get_list_state(ListStateDescriptor("rows", Types.ROW_NAMED(["a"], [Types.LONG()]))).add((1,))
    wider = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
    assert store(old.snapshot()).get_list_state(ListStateDescriptor("rows", wider)).get() == [(1, None)]


def test_state_of_an_operator_of_another_kind_is_refused() -> None:
    with pytest.raises(RestoreError, match="saved by an operator of another kind"):
        store({"longs": ListElements.of([1])}).get_list_state(LONGS)


def test_a_class_that_is_gone_is_told_with_the_state() -> None:
    gone = b"cno_such_module\nThing\n."
    taken = saved(ListMode.SPLIT)["longs"]
    with pytest.raises(RestoreError, match=r"state 'longs' of operator 'op' holds objects of the class no_such_module"):
        store({"longs": ListElements(taken.mode, [gone], taken.type)}).get_list_state(LONGS)


def test_a_class_that_has_moved_is_found_where_it_is_now() -> None:
    taken = saved(ListMode.SPLIT)["longs"]
    restored = {"longs": ListElements(taken.mode, [b"cno_such_module\nThing\n."], taken.type)}
    states = OperatorStateStore("op", 0, restored, {"no_such_module.Thing": "fractions.Fraction"})
    assert states.get_list_state(LONGS).get() == [Fraction]


# --- what nobody asks for


@pytest.mark.parametrize("mode", [ListMode.SPLIT, ListMode.BROADCAST])
def test_what_nobody_asks_for_goes_into_the_next_snapshot(mode: ListMode) -> None:
    taken = saved(mode, ("a", 1) if mode is ListMode.BROADCAST else 1)
    assert store(taken, subtask=1).snapshot() == taken


def test_a_union_that_nobody_asks_for_is_carried_on_once() -> None:
    taken = saved(ListMode.UNION, 1, 2)
    snapshots = [store(taken, subtask).snapshot()["longs"] for subtask in range(3)]
    assert [each.values("state", {}) for each in snapshots] == [[1, 2], [], []]
    assert {(each.mode, each.type) for each in snapshots} == {(ListMode.UNION, taken["longs"].type)}
