"""State descriptors: the name and the type of a state, as a function declares it."""

from __future__ import annotations

from headgate.errors import ProgramError
from headgate.types.typeinfo import TypeInformation


class StateDescriptor:
    """Name and type of a state. Two descriptors are equal when class and name are (as in Flink)."""

    kind: str = ""
    """Word for the kind of state in snapshots and messages."""

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not isinstance(name, str) or not name:
            raise ProgramError(f"a state needs a name (a non-empty str), not {name!r}")
        if not isinstance(type_info, TypeInformation):
            raise ProgramError(
                f"state {name!r} needs a type, for instance Types.LONG() or Types.PICKLED_BYTE_ARRAY(), "
                f"not {type_info!r}"
            )
        self.name = name
        self.type_info = type_info

    def get_name(self) -> str:
        """Return the name."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, StateDescriptor) and self.name == other.name

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


class ValueStateDescriptor(StateDescriptor):
    """Describes one value for each key.

    >>> from headgate.types.typeinfo import Types
    >>> ValueStateDescriptor("count", Types.LONG()).get_name()
    'count'
    """

    kind = "value"

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)
