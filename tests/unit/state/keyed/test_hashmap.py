"""The hash-map backend: declarations, and snapshots that show the barrier while the loop goes on."""

from __future__ import annotations

import pickle
import sys
import weakref
from dataclasses import replace
from typing import Any

import pytest

from headgate.errors import InternalError, ProgramError, RestoreError, SerializationError, StateAccessError
from headgate.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from headgate.state.files import InlineHandle, StateFile
from headgate.state.formats.patch import ListPatch
from headgate.state.formats.snapshot import SnapshotWriter, decode
from headgate.state.keyed.cells import CHUNK_CELLS
from headgate.state.keygroups import key_group, key_group_range
from headgate.types.keys import hash_code
from headgate.types.row import Row
from headgate.types.typeinfo import Types
from tests.unit.state.backends import (
    GROUPS,
    Files,
    at,
    backend_of,
    begin,
    contents,
    finish,
    get,
    put,
    restored,
    saved,
    value_state,
)

# --- declarations


def test_the_same_name_gives_the_same_handle() -> None:
    backend = backend_of()
    assert value_state(backend) is value_state(backend)


def test_one_name_for_two_types_is_refused_naming_both() -> None:
    backend = backend_of()
    backend.state(ValueStateDescriptor("count", Types.LONG()))
    with pytest.raises(ProgramError, match=r"'count' is declared twice, as value state of .* and as value state of"):
        backend.state(ValueStateDescriptor("count", Types.STRING()))


def test_a_new_cell_has_no_spare_places() -> None:
    backend = backend_of()
    for name in ("one", "two", "three", "four", "five"):
        put(backend, value_state(backend, name), name, 1)
    cell = backend.cells["five"]
    assert sys.getsizeof(cell) == sys.getsizeof([None] * len(cell))


def test_restored_state_of_another_type_is_refused_with_what_to_do() -> None:
    old = backend_of()
    put(old, old.state(ValueStateDescriptor("count", Types.LONG())), "k", 1)
    new = restored(saved(old))
    with pytest.raises(RestoreError, match=r"'count' was saved as .* and is now declared as .*; declare it as"):
        new.state(ValueStateDescriptor("count", Types.STRING()))


def test_a_state_declared_after_records_came_begins_empty_for_every_key() -> None:
    backend = backend_of()
    put(backend, value_state(backend, "old"), "k", 1)
    late = value_state(backend, "late")
    assert get(backend, late, "k") is None
    put(backend, late, "k", 2)
    assert (contents(backend, "old"), contents(backend, "late")) == ({"k": 1}, {"k": 2})


def test_a_state_declared_while_a_snapshot_is_under_way_is_not_in_it() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "k", 1)
    pending = begin(backend)
    put(backend, value_state(backend, "late"), "k", 2)
    again = restored(finish(backend, pending))
    assert (contents(again), contents(again, "late")) == ({"k": 1}, {})


def test_state_of_a_namespace_is_refused_after_the_batch_too() -> None:
    backend = backend_of()
    windows = backend.namespaces.state(ValueStateDescriptor("w", Types.LONG()))
    with at(backend, "key"):
        backend.namespaces.set(60_000)
        windows.update(1)
    with pytest.raises(StateAccessError, match="without a current key"):
        windows.value()


def test_changes_that_another_backend_saved_as_patches_are_applied() -> None:
    first = backend_of()
    items = first.state(ListStateDescriptor("items", Types.LONG()))
    with at(first, "key"):
        items.update([1, 2])
    base = saved(first)
    writer = SnapshotWriter(decode(base.files[base.state.base[0]], "base", {}).states, delta=True)  # type: ignore[arg-type]
    writer.add(0, [[key_group(hash_code("key"), GROUPS), "key", ListPatch([3])]])
    log = StateFile("delta", InlineHandle(b"".join(writer.finish())))
    second = restored(Files().fetch(replace(base.state, log=(log,))))
    with at(second, "key"):
        assert list(second.state(ListStateDescriptor("items", Types.LONG())).get()) == [1, 2, 3]


def test_parts_of_a_state_that_differ_in_type_are_refused_naming_both() -> None:
    parts = []
    for groups, type_info in ((range(64), Types.ROW_NAMED(["a"], [Types.INT()])), (range(64, 128), Types.STRING())):
        backend = backend_of(groups)
        backend.state(ValueStateDescriptor("v", type_info))
        parts.append(saved(backend))
    with pytest.raises(RestoreError, match=r"state 'v' was saved as value state of Row.* and as value state of String"):
        restored(*parts)


def test_state_that_is_no_longer_declared_is_kept() -> None:
    old = backend_of()
    put(old, value_state(old, "forgotten"), "k", 1)
    between = restored(saved(old))
    put(between, value_state(between, "new"), "k", 2)
    again = restored(saved(between))
    assert (contents(again, "forgotten"), contents(again, "new")) == ({"k": 1}, {"k": 2})


def test_states_are_restored_by_name_whatever_the_order_of_declaration() -> None:
    old = backend_of()
    put(old, value_state(old, "a"), "k", 1)
    put(old, value_state(old, "b"), "k", 2)
    new = backend_of()
    value_state(new, "b")
    new.restore([saved(old)], "the file")
    assert (contents(new, "a"), contents(new, "b")) == ({"k": 1}, {"k": 2})


def test_a_key_of_another_subtask_is_an_error_of_ours() -> None:
    backend = backend_of(range(0))
    with pytest.raises(InternalError, match=r"reached a subtask that owns"):
        backend.enter("k", None)


# --- snapshots


def test_a_snapshot_holds_the_values_of_the_barrier_while_they_change() -> None:
    backend = backend_of()
    state = value_state(backend)
    for key in range(3000):
        put(backend, state, key, key)
    pending = begin(backend)
    pending.advance()
    for key in range(3000):
        put(backend, state, key, -key)
    put(backend, state, "new", 1)
    with at(backend, 7):
        state.clear()
    again = restored(finish(backend, pending))
    assert contents(again) == {key: key for key in range(3000)}
    assert get(backend, state, 8) == -8


@pytest.mark.parametrize("advanced_before", [True, False])
def test_a_list_changed_in_place_after_the_barrier_is_saved_as_it_was(advanced_before: bool) -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "k", [1])
    pending = begin(backend)
    if advanced_before:
        pending.advance()
    held: Any = get(backend, state, "k")
    held.append(2)
    assert contents(restored(finish(backend, pending))) == {"k": [1]}
    assert get(backend, state, "k") == [1, 2]


def test_a_list_inside_a_tuple_is_saved_as_it_was() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "k", (1, [2]))
    pending = begin(backend)
    held: Any = get(backend, state, "k")
    held[1].append(3)
    assert contents(restored(finish(backend, pending))) == {"k": (1, [2])}


def test_two_snapshots_under_way_each_show_their_own_barrier() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "a", [1])
    put(backend, state, "b", [1])
    first = begin(backend)
    get(backend, state, "a").append(2)
    second = begin(backend)
    for key in ("a", "b"):
        get(backend, state, key).append(3)
    assert contents(restored(finish(backend, first))) == {"a": [1], "b": [1]}
    assert contents(restored(finish(backend, second))) == {"a": [1, 2], "b": [1]}


def test_nothing_is_kept_of_a_snapshot_that_is_written() -> None:
    backend = backend_of()
    put(backend, value_state(backend), "a", 1)
    pending = begin(backend)
    finish(backend, pending)
    known = weakref.ref(pending)
    del pending
    assert known() is None


def test_a_restored_state_that_is_declared_while_a_snapshot_is_under_way_is_in_it_as_it_was() -> None:
    old, new = Types.ROW_NAMED(["a"], [Types.INT()]), Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()], {"b": 7})
    first = backend_of()
    put(first, first.state(ValueStateDescriptor("v", old)), "key", Row(a=1))
    second = restored(saved(first))
    pending = begin(second)
    state = second.state(ValueStateDescriptor("v", new))
    assert get(second, state, "key") == Row(a=1, b=7)
    third = restored(finish(second, pending))
    assert get(third, third.state(ValueStateDescriptor("v", old)), "key") == Row(a=1)


def test_a_snapshot_given_up_leaves_the_next_one_whole() -> None:
    backend = backend_of()
    state = value_state(backend)
    for key in range(200):
        put(backend, state, key, key)
    given_up = begin(backend)
    given_up.advance()
    backend.forget(given_up)
    assert contents(restored(saved(backend))) == {key: key for key in range(200)}


def test_a_key_deleted_and_made_again_after_the_barrier_is_saved_once_with_its_old_value() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "k", "old")
    pending = begin(backend)
    put(backend, state, "k", None)
    put(backend, state, "k", "new")
    again = restored(finish(backend, pending))
    assert contents(again) == {"k": "old"}
    assert len(again) == 1


def test_a_key_deleted_before_the_barrier_is_not_saved() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "gone", 1)
    put(backend, state, "here", 2)
    put(backend, state, "gone", None)
    assert contents(restored(saved(backend))) == {"here": 2}


def test_keys_made_in_the_batch_after_the_barrier_are_not_saved() -> None:
    backend = backend_of()
    state = value_state(backend)
    pending = begin(backend)
    put(backend, state, "late", 1)
    assert contents(restored(finish(backend, pending))) == {}


@pytest.mark.slow
def test_each_piece_of_a_snapshot_takes_a_bounded_number_of_cells() -> None:
    backend = backend_of()
    state = value_state(backend)
    with at(backend, *range(20_000)):
        pass
    for key in range(20_000):
        put(backend, state, key, key)
    pending = begin(backend)
    pieces = 1
    while not pending.advance():
        pieces += 1
    assert pieces >= 20_000 // (2 * CHUNK_CELLS)


def test_no_piece_of_a_snapshot_pickles_more_than_about_a_thousand_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many keys changed between the barrier and the walk: one call of pickle stops the whole process."""
    backend = backend_of()
    state = value_state(backend)
    for key in range(10_000):
        put(backend, state, key, key)
    pickled = []
    dumps = pickle.dumps

    def counting(frame: Any, protocol: int) -> bytes:
        pickled.append(len(frame[1]))
        return dumps(frame, protocol)

    monkeypatch.setattr("headgate.state.formats.snapshot.pickle.dumps", counting)
    pending = begin(backend)
    for key in range(10_000):
        put(backend, state, key, -1)
    while not pending.advance():
        pass
    assert sum(pickled) == 10_000
    data = finish(backend, pending)
    assert max(pickled) <= 2 * CHUNK_CELLS
    assert sum(pickled) == 10_000
    assert contents(restored(data)) == {key: key for key in range(10_000)}


class Stubborn:
    """A value that cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("stubborn")


def test_a_value_that_cannot_be_pickled_is_named_with_its_state_and_key() -> None:
    backend = backend_of()
    put(backend, value_state(backend, "fine"), "k", 1)
    put(backend, value_state(backend, "bad"), "k", Stubborn())
    with pytest.raises(SerializationError, match=r"state 'bad' of key 'k' holds a Stubborn that cannot be pickled"):
        begin(backend).advance()


def test_a_value_that_cannot_be_pickled_fails_the_snapshot_and_not_the_record_that_touches_it() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "k", Stubborn())
    pending = begin(backend)
    put(backend, state, "k", 1)
    with pytest.raises(SerializationError, match=r"state 'v' of key 'k' holds a Stubborn"):
        pending.advance()
    assert get(backend, state, "k") == 1


# --- other parallelisms


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 3), (3, 2), (4, 4)])
def test_a_restored_subtask_takes_exactly_its_own_key_groups(before: int, after: int) -> None:
    keys = [*range(300), *(f"key {n}" for n in range(300))]
    old = [backend_of(key_group_range(index, before, GROUPS)) for index in range(before)]
    for key in keys:
        owner = next(one for one in old if key_group(hash_code(key), GROUPS) in one._context.key_groups)
        put(owner, value_state(owner), key, f"value of {key}")
    files = [saved(one) for one in old]
    new = [restored(*files, groups=key_group_range(index, after, GROUPS)) for index in range(after)]
    found = [contents(one) for one in new]
    assert sum(map(len, found)) == len(keys)
    assert {key: value for part in found for key, value in part.items()} == {key: f"value of {key}" for key in keys}
    for index, part in enumerate(found):
        assert all(key_group(hash_code(key), GROUPS) in key_group_range(index, after, GROUPS) for key in part)
