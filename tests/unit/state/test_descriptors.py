"""Which declarations of a state are valid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.errors import ProgramError
from headgate.functions.api import ReduceFunction
from headgate.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headgate.types.typeinfo import Types
from tests.contract.backends.keyed_states import Gather


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_state_needs_a_name(name: Any) -> None:
    with pytest.raises(ProgramError, match="needs a name"):
        ValueStateDescriptor(name, Types.LONG())


def test_a_type_that_is_none_is_refused_with_an_example() -> None:
    with pytest.raises(ProgramError, match=r"state 'count' needs a type, for instance Types.LONG\(\).*int"):
        ValueStateDescriptor("count", int)  # type: ignore[arg-type]


def test_descriptors_are_equal_when_class_and_name_are() -> None:
    one, same = ValueStateDescriptor("a", Types.LONG()), ValueStateDescriptor("a", Types.STRING())
    assert one == same
    assert hash(one) == hash(same)
    assert one != ValueStateDescriptor("b", Types.LONG())


def test_the_type_of_a_state_is_the_type_of_all_that_a_key_has() -> None:
    assert ListStateDescriptor("l", Types.LONG()).type_info == Types.LIST(Types.LONG())
    assert MapStateDescriptor("m", Types.STRING(), Types.LONG()).type_info == Types.MAP(Types.STRING(), Types.LONG())
    assert ReducingStateDescriptor("r", max, Types.LONG()).type_info == Types.LONG()
    assert AggregatingStateDescriptor("a", Gather(), Types.LONG()).type_info == Types.LONG()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ListStateDescriptor("s", None),  # type: ignore[arg-type]
        lambda: MapStateDescriptor("s", Types.STRING(), int),  # type: ignore[arg-type]
        lambda: ReducingStateDescriptor("s", max, "LONG"),  # type: ignore[arg-type]
        lambda: AggregatingStateDescriptor("s", Gather(), None),  # type: ignore[arg-type]
    ],
)
def test_every_kind_needs_types(make: Callable[[], object]) -> None:
    with pytest.raises(ProgramError, match="state 's' needs a type"):
        make()


def test_a_reduce_function_is_an_object_or_a_callable() -> None:
    class Longest(ReduceFunction):
        def reduce(self, value1: Any, value2: Any) -> Any:
            return max(value1, value2, key=len)

    given = Longest()
    descriptor = ReducingStateDescriptor("r", given, Types.STRING())
    assert descriptor.get_reduce_function() is given
    assert descriptor.combine("a", "bb") == "bb"
    for wrong in (None, 3, Longest):
        with pytest.raises(ProgramError, match="reducing state 'r' needs a ReduceFunction or a callable"):
            ReducingStateDescriptor("r", wrong, Types.STRING())  # type: ignore[arg-type]


def test_an_aggregate_function_has_four_methods() -> None:
    given = Gather()
    assert AggregatingStateDescriptor("a", given, Types.LONG()).get_agg_function() is given
    for wrong in (max, None, Gather):
        with pytest.raises(ProgramError, match="aggregating state 'a' needs an AggregateFunction"):
            AggregatingStateDescriptor("a", wrong, Types.LONG())  # type: ignore[arg-type]
