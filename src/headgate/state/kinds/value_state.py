"""Value state: one value for each key."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar, final

from headgate.state.kinds.forms import SINGLE
from headgate.state.kinds.handle import Attributes, SingleHandle
from headgate.state.kinds.kind import StateDescriptor, StateKind
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.owner import HandleOwner
from headgate.types.typeinfo import TypeInformation

T = TypeVar("T")


class ValueState(SingleHandle, Generic[T]):
    """One value for each key. A read returns the stored object itself: after changing the object, call `update`."""

    __slots__ = ()

    def value(self) -> T | None:
        """Return the value of the current key, None if it has none."""
        return self._current.cell[self._column]  # type: ignore[no-any-return]  # a cast costs a call for each record

    def update(self, value: T | None) -> None:
        """Set the value of the current key; None clears it. Raises `StateAccessError` for a value of another type."""
        if type(value) is not self._fitting:
            if value is None:
                self.clear()
                return
            value = self._fit(value)
        self._current.cell[self._column] = value

    async def async_value(self) -> T | None:
        """Load the state of the current key, if needed, and return as `value` does."""
        await self._owner.loaded()
        return self.value()

    async def async_update(self, value: T | None) -> None:
        """Load the state of the current key, if needed, and set as `update` does."""
        await self._owner.loaded()
        self.update(value)


class PythonValueState(Attributes, ValueState[Any]):
    """The handle without a time to live."""

    __slots__ = ()


@final
class TtlValueState(PythonValueState):
    """A value with a time to live."""

    __slots__ = ("lifetime",)

    def __init__(self, descriptor: StateDescriptor, owner: HandleOwner, column: int, lifetime: Lifetime) -> None:
        super().__init__(descriptor, owner, column)
        self.lifetime = lifetime

    def value(self) -> Any | None:
        return self.lifetime.read(self)

    def update(self, value: Any | None) -> None:
        if type(value) is not self._fitting and value is not None:
            value = self._fit(value)
        self.store(None if value is None else (self.lifetime.access(), value))


VALUE: Final = StateKind["ValueStateDescriptor"]("value", SINGLE, handle=PythonValueState, expiring=TtlValueState)


class ValueStateDescriptor(StateDescriptor):
    """Describes one value for each key.

    >>> from headgate.types.typeinfo import Types
    >>> ValueStateDescriptor("count", Types.LONG()).get_name()
    'count'
    """

    kind = VALUE

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)
