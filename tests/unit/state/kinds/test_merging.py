"""Merging the content of namespaces, and handles by kind."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.clock import VirtualClock
from headgate.errors import InternalError, ProgramError
from headgate.state.descriptors import ReducingStateDescriptor, StateDescriptor
from headgate.state.kinds.binding import bind
from headgate.state.kinds.merging import merged
from headgate.types.typeinfo import Types
from tests.contract.backends.keyed_states import TTL_MS, descriptor_of, ttl_config
from tests.unit.state.backends import backend_of

DEAD, LIVE, NOW = 0, TTL_MS, TTL_MS + 1


def merge(kind: str, target: Any, *sources: Any) -> Any:
    return merged(descriptor_of(kind, "s"), target, sources, NOW)


@pytest.mark.parametrize("kind", ["list", "reducing", "aggregating"])
@pytest.mark.parametrize("target", [None, (1,)])
def test_without_anything_in_the_sources_the_target_stays(kind: str, target: Any) -> None:
    stored = list(target) if kind == "list" and target else target
    assert merge(kind, stored) == stored
    assert merge(kind, stored, None, None) == stored


def test_lists_are_joined_target_first_then_sources_in_order() -> None:
    assert merge("list", [1], [2], None, [3, 4]) == [1, 2, 3, 4]
    assert merge("list", None, [2], [3]) == [2, 3]


def test_values_are_reduced_sources_first_then_into_the_target() -> None:
    descriptor = ReducingStateDescriptor("s", lambda one, other: f"({one}{other})", Types.STRING())
    assert merged(descriptor, "t", ["a", None, "b", "c"], NOW) == "(t((ab)c))"
    assert merged(descriptor, None, ["a", "b"], NOW) == "(ab)"
    assert merged(descriptor, None, ["a"], NOW) == "a"


def test_accumulators_are_merged_by_their_function() -> None:
    assert merge("aggregating", [1], [2], [3]) == [1, 2, 3]


@pytest.mark.parametrize("kind", ["value", "map"])
def test_values_and_maps_cannot_be_merged(kind: str) -> None:
    with pytest.raises(ProgramError, match=f"{kind} state 's' cannot be merged.*use a list"):
        merge(kind, None, 1)


@pytest.mark.parametrize(
    ("target", "sources", "found"),
    [
        ((LIVE, (1,)), [(LIVE, (2,))], (NOW, (1, 2))),
        ((DEAD, (1,)), [(LIVE, (2,))], (NOW, (2,))),
        ((LIVE, (1,)), [(DEAD, (2,))], (NOW, (1,))),
        (None, [(DEAD, (1,)), (LIVE, (2,)), (LIVE, (3,))], (NOW, (2, 3))),
        (None, [(DEAD, (1,)), (DEAD, (2,))], None),
        (None, [(LIVE, (1,))], (LIVE, (1,))),
    ],
)
def test_what_has_expired_does_not_count_where_two_are_merged(target: Any, sources: list[Any], found: Any) -> None:
    assert merged(descriptor_of("reducing", "s", ttl_config().build()), target, sources, NOW) == found


def test_what_has_expired_counts_where_it_may_be_shown() -> None:
    descriptor = descriptor_of("reducing", "s", ttl_config().return_expired_if_not_cleaned_up().build())
    assert merged(descriptor, (DEAD, (1,)), [(DEAD, (2,))], NOW) == (NOW, (1, 2))


def test_elements_keep_their_times_when_lists_are_merged() -> None:
    descriptor = descriptor_of("list", "s", ttl_config().build())
    assert merged(descriptor, [(DEAD, 1)], [[(LIVE, 2)]], NOW) == [(DEAD, 1), (LIVE, 2)]


def test_a_kind_that_nobody_knows_is_our_own_mistake() -> None:
    with pytest.raises(InternalError, match="of kind ''"):
        bind(StateDescriptor("s", Types.LONG()), backend_of(), 4, VirtualClock())
