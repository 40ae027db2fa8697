"""Where state goes when a job starts from a checkpoint."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.checkpoint.manifest import Manifest, OperatorShape
from headgate.checkpoint.restore.assign import Assignment, assign, assign_lists, deal_evenly, follow_uid_hashes
from headgate.errors import RestoreError
from headgate.ids import SubtaskId
from headgate.state.keygroups import key_group_range
from headgate.state.operator.list_elements import ListElements, ListMode
from tests.unit.checkpoint.manifests import keyed, listed, manifest, operator

Elements = dict[tuple[str, int, str], list[bytes]]


def shape(uid: str, parallelism: int, max_parallelism: int = 128) -> OperatorShape:
    return OperatorShape(uid=uid, name=uid.title(), vertex=1, parallelism=parallelism, max_parallelism=max_parallelism)


def assigned(snapshot: Manifest, *shapes: OperatorShape, elements: Elements | None = None) -> Assignment:
    return assign(snapshot, shapes, elements or {}, allow_non_restored=False)


def spread(uid: str, parallelism: int) -> Manifest:
    ranges = [key_group_range(index, parallelism, 128) for index in range(parallelism)]
    return manifest(1, operator(uid, *(keyed(uid, own.start, own.stop - 1) for own in ranges)))


@given(st.integers(1, 20), st.integers(1, 20))
def test_every_key_group_reaches_the_subtask_that_owns_it_at_any_parallelism(old: int, new: int) -> None:
    result = assigned(spread("count", old), shape("count", new))
    for index in range(new):
        own = key_group_range(index, new, 128)
        parts = [part.key_groups for part in result[SubtaskId(1, index)]["count"].keyed]
        assert {group for first, last in parts for group in range(first, last + 1)} >= set(own)
        assert all(first < own.stop and own.start <= last for first, last in parts)


def sources(*elements: list[bytes]) -> tuple[Manifest, Elements]:
    states = (listed("source", "splits") for _ in elements)
    stored = {("source", index, "splits"): own for index, own in enumerate(elements)}
    return manifest(1, operator("source", *states)), stored


def test_at_the_same_parallelism_every_subtask_gets_back_its_own_list_elements() -> None:
    snapshot, elements = sources([b"a", b"b", b"c"], [])
    result = assigned(snapshot, shape("source", 2), elements=elements)
    assert [result[SubtaskId(1, index)]["source"].lists["splits"].elements for index in range(2)] == [
        [b"a", b"b", b"c"],
        [],
    ]


def test_at_the_same_parallelism_a_subtask_that_had_no_such_state_gets_nothing_of_its_peers() -> None:
    old = states_of(ListMode.SPLIT, [b"a"], None, [b"b"])
    assert [own["s"].elements for own in assign_lists(old, 3, 128)] == [[b"a"], [], [b"b"]]


def test_at_another_parallelism_list_elements_are_dealt_out_in_the_order_of_the_old_subtasks() -> None:
    snapshot, elements = sources([b"a", b"b"], [b"c", b"d"])
    result = assigned(snapshot, shape("source", 3), elements=elements)
    dealt = [result[SubtaskId(1, index)]["source"].lists["splits"].elements for index in range(3)]
    assert dealt == [[b"a", b"b"], [b"c"], [b"d"]]


def test_every_subtask_is_told_of_every_list_state_with_its_mode_and_type() -> None:
    snapshot, elements = sources([b"a"])
    result = assigned(snapshot, shape("source", 4), elements=elements)
    for index in range(4):
        state = result[SubtaskId(1, index)]["source"].lists["splits"]
        assert (state.mode, state.type) == (ListMode.SPLIT, "[]")


def states_of(mode: ListMode, *elements: list[bytes] | None) -> list[dict[str, ListElements]]:
    return [{} if own is None else {"s": ListElements(mode, own)} for own in elements]


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_every_subtask_gets_the_whole_union_at_any_parallelism(parallelism: int) -> None:
    old = states_of(ListMode.UNION, [b"a", b"b"], [b"c"])
    new = assign_lists(old, parallelism, 128)
    assert [own["s"].elements for own in new] == [[b"a", b"b", b"c"]] * parallelism


def test_a_broadcast_state_is_copied_from_the_old_subtasks_in_turn() -> None:
    old = states_of(ListMode.BROADCAST, [b"0"], [b"1"])
    assert [own["s"].elements for own in assign_lists(old, 5, 128)] == [[b"0"], [b"1"], [b"0"], [b"1"], [b"0"]]
    assert [own["s"].elements for own in assign_lists(old, 1, 128)] == [[b"0"]]


def test_a_subtask_whose_copy_of_a_broadcast_state_is_missing_gets_that_of_a_peer() -> None:
    old = states_of(ListMode.BROADCAST, None, [b"1"], None)
    assert [own["s"].elements for own in assign_lists(old, 3, 128)] == [[b"1"]] * 3


def test_subtasks_share_no_list() -> None:
    first, second = assign_lists(states_of(ListMode.UNION, [b"a"]), 2, 128)
    first["s"].elements.append(b"b")
    assert second["s"].elements == [b"a"]


def test_remainders_of_several_states_do_not_pile_up_on_the_first_subtask() -> None:
    dealt = deal_evenly({"a": [b"1"], "b": [b"2"], "c": [b"3"], "d": [b"4"]}, 3)
    assert dealt == [{"a": [b"1"], "d": [b"4"]}, {"b": [b"2"]}, {"c": [b"3"]}]


@pytest.mark.slow
@given(
    st.dictionaries(st.text(max_size=2), st.lists(st.binary(max_size=2), max_size=12), max_size=4), st.integers(1, 7)
)
def test_dealing_loses_and_repeats_nothing_and_is_even(states: dict[str, list[bytes]], parallelism: int) -> None:
    dealt = deal_evenly(states, parallelism)
    for name, elements in states.items():
        shares = [len(part.get(name, [])) for part in dealt]
        assert sorted(element for part in dealt for element in part.get(name, [])) == sorted(elements)
        assert max(shares) - min(shares) <= 1


def test_state_without_an_operator_is_an_error_that_names_its_uid() -> None:
    with pytest.raises(RestoreError, match=r"'Count' \(uid 'count'\).*it has: total"):
        assigned(spread("count", 2), shape("total", 2))


def test_state_without_an_operator_is_dropped_when_that_is_allowed() -> None:
    assert assign(spread("count", 2), [shape("total", 2)], {}, allow_non_restored=True) == {}


def test_an_operator_that_had_no_state_may_go_without_a_word() -> None:
    assert assigned(manifest(1, operator("map", None, None)), shape("total", 2)) == {}


def test_keyed_state_of_another_max_parallelism_is_refused() -> None:
    with pytest.raises(RestoreError, match=r"max parallelism 128.*has 256: set the max parallelism back to 128"):
        assigned(spread("count", 2), shape("count", 2, max_parallelism=256))


def test_other_state_is_restored_at_any_max_parallelism() -> None:
    snapshot, elements = sources([b"a"])
    result = assigned(snapshot, shape("source", 1, max_parallelism=256), elements=elements)
    assert result[SubtaskId(1, 0)]["source"].lists["splits"].elements == [b"a"]


def test_a_new_operator_starts_without_state() -> None:
    result = assigned(spread("count", 1), shape("count", 1), shape("new", 1))
    assert result[SubtaskId(1, 0)].keys() == {"count"}


def test_state_goes_to_the_operator_that_names_its_former_uid_as_a_hash() -> None:
    stored = manifest(3, operator("0f" * 16, keyed("0f" * 16, 0, 127)), operator("other", keyed("other", 0, 127)))
    renamed = replace(shape("count", 1), uid_hash="0f" * 16)
    followed = follow_uid_hashes(stored, [renamed, shape("other", 1)])
    assert [each.uid for each in followed.operators] == ["count", "other"]


def test_state_under_the_operators_own_uid_comes_before_that_of_its_hash() -> None:
    stored = manifest(3, operator("0f" * 16, keyed("0f" * 16, 0, 127)), operator("count", keyed("count", 0, 127)))
    assert follow_uid_hashes(stored, [replace(shape("count", 1), uid_hash="0f" * 16)]) is stored
