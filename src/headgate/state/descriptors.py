"""State descriptors: the name and the type of a state, as a function declares it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from headgate.errors import ProgramError
from headgate.state.ttl import StateTtlConfig
from headgate.types.typeinfo import TypeInformation, Types


@runtime_checkable
class Reduction(Protocol):
    """Combines two values into one. `ReduceFunction` of the API is one."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the combination of the result so far and the next value."""
        ...


@runtime_checkable
class Aggregation(Protocol):
    """Gathers values in an accumulator. `AggregateFunction` of the API is one."""

    def create_accumulator(self) -> Any:
        """Return an accumulator that has no value in it yet."""
        ...

    def add(self, value: Any, accumulator: Any) -> Any:
        """Return the accumulator with `value` in it."""
        ...

    def get_result(self, accumulator: Any) -> Any:
        """Return what the values come to."""
        ...

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Return an accumulator of the values of both."""
        ...


Combine: TypeAlias = Callable[[Any, Any], Any]


class StateDescriptor:
    """Name and type of a state. Two descriptors are equal when class and name are (as in Flink).

    `type_info` is the type of all that the state holds for a key: for a list state it is the type of the list.
    """

    kind: str = ""
    """Word for the kind of state in snapshots and messages."""

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not isinstance(name, str) or not name:
            raise ProgramError(f"a state needs a name (a non-empty str), not {name!r}")
        self.name = name
        self.type_info = _checked(name, type_info)
        self.ttl: StateTtlConfig | None = None
        """How long values live after their last access; None is for ever."""

    def get_name(self) -> str:
        """Return the name."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let values of this state expire; a configuration whose update type is `Disabled` lets them live for ever.

        To be called before the descriptor is handed to the runtime context. Raises `ProgramError`.
        """
        if not isinstance(ttl_config, StateTtlConfig):
            raise ProgramError(
                f"enable_time_to_live of state {self.name!r} takes a StateTtlConfig, for instance "
                f"StateTtlConfig.new_builder(Time.hours(1)).build(), not {ttl_config!r}"
            )
        self.ttl = ttl_config if ttl_config.is_enabled() else None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, StateDescriptor) and self.name == other.name

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


class ValueStateDescriptor(StateDescriptor):
    """Describes one value for each key.

    >>> ValueStateDescriptor("count", Types.LONG()).get_name()
    'count'
    """

    kind = "value"

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Describes a list of elements for each key.

    >>> ListStateDescriptor("visits", Types.STRING())
    ListStateDescriptor('visits', ListTypeInfo<String>)
    """

    kind = "list"

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, Types.LIST(_checked(name, elem_type_info)))


class MapStateDescriptor(StateDescriptor):
    """Describes a map, of keys of its own, for each key of the stream.

    >>> MapStateDescriptor("per page", Types.STRING(), Types.LONG())
    MapStateDescriptor('per page', MapTypeInfo<String, Long>)
    """

    kind = "map"

    def __init__(self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        super().__init__(name, Types.MAP(_checked(name, key_type_info), _checked(name, value_type_info)))


class ReducingStateDescriptor(StateDescriptor):
    """Describes one value for each key, which is the combination of all that were added.

    `reduce_function` is a `ReduceFunction` or a callable of two values.

    >>> ReducingStateDescriptor("most", max, Types.LONG()).get_reduce_function()(3, 4)
    4
    """

    kind = "reducing"

    def __init__(self, name: str, reduce_function: Reduction | Combine, type_info: TypeInformation) -> None:
        super().__init__(name, type_info)
        self.combine: Combine
        """The function of two values."""
        if isinstance(reduce_function, Reduction) and not isinstance(reduce_function, type):
            self.combine = reduce_function.reduce
        elif callable(reduce_function) and not isinstance(reduce_function, type):
            self.combine = reduce_function
        else:
            raise ProgramError(
                f"reducing state {name!r} needs a ReduceFunction or a callable of two values, not {reduce_function!r}"
            )
        self._reduce_function = reduce_function

    def get_reduce_function(self) -> Reduction | Combine:
        """Return the function as it was given."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Describes an accumulator for each key, to which values are added and from which a result is computed.

    `state_type_info` is the type of the accumulator.
    """

    kind = "aggregating"

    def __init__(self, name: str, agg_function: Aggregation, state_type_info: TypeInformation) -> None:
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, Aggregation) or isinstance(agg_function, type):
            raise ProgramError(
                f"aggregating state {name!r} needs an AggregateFunction (create_accumulator, add, get_result and "
                f"merge), not {agg_function!r}"
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> Aggregation:
        """Return the function."""
        return self._agg_function


def _checked(name: str, type_info: TypeInformation) -> TypeInformation:
    if not isinstance(type_info, TypeInformation):
        raise ProgramError(
            f"state {name!r} needs a type, for instance Types.LONG() or Types.PICKLED_BYTE_ARRAY(), not {type_info!r}"
        )
    return type_info
