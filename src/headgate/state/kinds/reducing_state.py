"""Reducing state: all added values, combined into one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, final, runtime_checkable

from headgate.errors import ProgramError
from headgate.state.kinds.forms import SINGLE
from headgate.state.kinds.handle import Attributes, SingleHandle
from headgate.state.kinds.kind import StateDescriptor, StateKind
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.merging import expiring, folded
from headgate.state.kinds.owner import HandleOwner
from headgate.types.typeinfo import TypeInformation

T = TypeVar("T")


Combine: TypeAlias = Callable[[Any, Any], Any]


@runtime_checkable
class Reduction(Protocol):
    """Combines two values into one value. `ReduceFunction` of the API has this interface."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Combine the result so far with the next value."""
        ...


class ReducingState(SingleHandle, Generic[T]):
    """One value for each key: all added values, combined."""

    __slots__ = ()

    _combine: Combine

    def get(self) -> T | None:
        """Return the combined value, None if nothing was added."""
        return self._current.cell[self._column]  # type: ignore[no-any-return]  # a cast costs a call for each record

    def add(self, value: T | None) -> None:
        """Combine the current value with `value`. The first value is stored unchanged, and None clears the state.

        Raises `StateAccessError` if the combined value is not of the declared type.
        """
        if value is not None:
            value = self._combined(self._current.cell[self._column], value)
        if value is None:
            self.clear()
        else:
            self._current.cell[self._column] = value

    async def async_get(self) -> T | None:
        """Load the state of the current key, if needed, and return as `get` does."""
        await self._owner.loaded()
        return self.get()

    async def async_add(self, value: T | None) -> None:
        """Load the state of the current key, if needed, and add as `add` does."""
        await self._owner.loaded()
        self.add(value)

    def _combined(self, so_far: T | None, value: T) -> T | None:
        combined: T | None = value if so_far is None else self._combine(so_far, value)
        if type(combined) is not self._fitting and combined is not None:
            combined = self._fit(combined)
        return combined


class PythonReducingState(Attributes, ReducingState[Any]):
    """The handle without a time to live."""

    __slots__ = ("_combine",)

    def __init__(self, descriptor: ReducingStateDescriptor, owner: HandleOwner, column: int) -> None:
        super().__init__(descriptor, owner, column)
        self._combine = descriptor.combine


@final
class TtlReducingState(PythonReducingState):
    """A combined value with a time to live. It expires as a whole; the next value starts a new one."""

    __slots__ = ("lifetime",)

    def __init__(
        self, descriptor: ReducingStateDescriptor, owner: HandleOwner, column: int, lifetime: Lifetime
    ) -> None:
        super().__init__(descriptor, owner, column)
        self.lifetime = lifetime

    def get(self) -> Any | None:
        return self.lifetime.read(self)

    def add(self, value: Any | None) -> None:
        now_ms = self.lifetime.access()
        if value is not None:
            value = self._combined(self.lifetime.usable(self.stored(), now_ms), value)
        self.store(None if value is None else (now_ms, value))


def _merged(descriptor: ReducingStateDescriptor, target: Any | None, sources: Sequence[Any], now_ms: int) -> Any | None:
    return folded(expiring(descriptor.combine, descriptor.ttl, now_ms), target, sources)


REDUCING: Final = StateKind["ReducingStateDescriptor"](
    "reducing", SINGLE, handle=PythonReducingState, expiring=TtlReducingState, merge=_merged
)


class ReducingStateDescriptor(StateDescriptor):
    """Describes one value for each key: all added values, combined.

    `reduce_function` is a `ReduceFunction` or a callable of two values.

    >>> from headgate.types.typeinfo import Types
    >>> ReducingStateDescriptor("most", max, Types.LONG()).get_reduce_function()(3, 4)
    4
    """

    kind = REDUCING

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
        """Return the reduce function that was passed to the constructor."""
        return self._reduce_function
