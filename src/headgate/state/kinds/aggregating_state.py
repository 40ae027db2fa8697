"""Aggregating state: values are added to an accumulator, from which a result is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar, final, runtime_checkable

from headgate.errors import ProgramError
from headgate.state.kinds.forms import SINGLE
from headgate.state.kinds.handle import Attributes, SingleHandle
from headgate.state.kinds.kind import StateDescriptor, StateKind
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.merging import expiring, folded
from headgate.state.kinds.owner import HandleOwner
from headgate.types.typeinfo import TypeInformation

IN = TypeVar("IN")
OUT = TypeVar("OUT")


@runtime_checkable
class Aggregation(Protocol):
    """Collects values in an accumulator. `AggregateFunction` of the API has this interface."""

    def create_accumulator(self) -> Any:
        """Return an empty accumulator."""
        ...

    def add(self, value: Any, accumulator: Any) -> Any:
        """Return the accumulator with `value` added."""
        ...

    def get_result(self, accumulator: Any) -> Any:
        """Return the result of the values in the accumulator."""
        ...

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Return an accumulator with the values of both accumulators."""
        ...


class AggregatingState(SingleHandle, Generic[IN, OUT]):
    """An accumulator for each key. Values are added to it, and a result is computed from it."""

    __slots__ = ()

    _function: Aggregation

    def get(self) -> OUT | None:
        """Return the result of the added values, None if nothing was added."""
        accumulator = self._current.cell[self._column]
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: IN | None) -> None:
        """Add a value to the accumulator. None clears the state.

        Raises `ProgramError` if the aggregate function returns None for the accumulator, and `StateAccessError` if the
        accumulator is not of the declared type.
        """
        if value is None:
            self.clear()
        else:
            self._current.cell[self._column] = self._accumulated(value, self._current.cell[self._column])

    async def async_get(self) -> OUT | None:
        """Load the state of the current key, if needed, and return as `get` does."""
        await self._owner.loaded()
        return self.get()

    async def async_add(self, value: IN | None) -> None:
        """Load the state of the current key, if needed, and add as `add` does."""
        await self._owner.loaded()
        self.add(value)

    def _accumulated(self, value: IN, accumulator: Any) -> Any:
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        accumulator = self._function.add(value, accumulator)
        if accumulator is None:
            raise self._no_accumulator()
        if type(accumulator) is not self._fitting:
            accumulator = self._fit(accumulator)
        return accumulator

    def _no_accumulator(self) -> ProgramError:
        return ProgramError(
            f"add() of {type(self._function).__name__}, the function of aggregating state {self._name!r}, returned "
            "None; return the accumulator, also when it was changed in place"
        )


class PythonAggregatingState(Attributes, AggregatingState[Any, Any]):
    """The handle without a time to live."""

    __slots__ = ("_function",)

    def __init__(self, descriptor: AggregatingStateDescriptor, owner: HandleOwner, column: int) -> None:
        super().__init__(descriptor, owner, column)
        self._function = descriptor.get_agg_function()


@final
class TtlAggregatingState(PythonAggregatingState):
    """An accumulator with a time to live. It expires as a whole; the next value starts a new accumulator."""

    __slots__ = ("lifetime",)

    def __init__(
        self, descriptor: AggregatingStateDescriptor, owner: HandleOwner, column: int, lifetime: Lifetime
    ) -> None:
        super().__init__(descriptor, owner, column)
        self.lifetime = lifetime

    def get(self) -> Any | None:
        accumulator = self.lifetime.read(self)
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any | None) -> None:
        now_ms = self.lifetime.access()
        if value is None:
            self.clear()
        else:
            self.store((now_ms, self._accumulated(value, self.lifetime.usable(self.stored(), now_ms))))


def _merged(
    descriptor: AggregatingStateDescriptor, target: Any | None, sources: Sequence[Any], now_ms: int
) -> Any | None:
    merge = merge_of(descriptor.get_agg_function())
    return folded(expiring(merge, descriptor.ttl, now_ms), target, sources)


def merge_of(function: Aggregation) -> Callable[[Any, Any], Any]:
    """Return the `merge` of an aggregate function with a check: it raises `ProgramError` if the result is None."""

    def merge(one: Any, other: Any) -> Any:
        merged = function.merge(one, other)
        if merged is None:
            raise ProgramError(f"merge() of {type(function).__name__} returned None; return the accumulator")
        return merged

    return merge


AGGREGATING: Final = StateKind["AggregatingStateDescriptor"](
    "aggregating", SINGLE, handle=PythonAggregatingState, expiring=TtlAggregatingState, merge=_merged
)


class AggregatingStateDescriptor(StateDescriptor):
    """Describes an accumulator for each key. Values are added to it, and a result is computed from it.

    `state_type_info` is the type of the accumulator.
    """

    kind = AGGREGATING

    def __init__(self, name: str, agg_function: Aggregation, state_type_info: TypeInformation) -> None:
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, Aggregation) or isinstance(agg_function, type):
            raise ProgramError(
                f"aggregating state {name!r} needs an AggregateFunction (create_accumulator, add, get_result and "
                f"merge), not {agg_function!r}"
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> Aggregation:
        """Return the aggregate function."""
        return self._agg_function
