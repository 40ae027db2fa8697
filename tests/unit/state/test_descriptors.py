"""What a state may be declared as."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import ProgramError
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types


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
