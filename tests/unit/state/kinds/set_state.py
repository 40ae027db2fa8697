"""Set state: distinct elements for each key. A kind of the tests' own (docs/internals/adding-a-state-kind.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar, final

from headgate.state.kinds.forms import MAP
from headgate.state.kinds.handle import Attributes, Handle
from headgate.state.kinds.kind import StateDescriptor, StateKind
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.map_state import MapState, PythonMapState, TtlMapState
from headgate.state.kinds.owner import HandleOwner
from headgate.types.typeinfo import TypeInformation, Types

T = TypeVar("T")


class SetState(Attributes, Handle, Generic[T]):
    """Distinct elements for each key: the keys of a map."""

    __slots__ = ("_map",)

    def __init__(self, descriptor: SetStateDescriptor, owner: HandleOwner, column: int) -> None:
        super().__init__(descriptor, owner, column)
        self._map: MapState[T, bool] = PythonMapState(descriptor, owner, column)

    def add(self, element: T) -> None:
        """Add an element. With a time to live, it lives from now."""
        self._map.put(element, True)

    def discard(self, element: T) -> None:
        """Remove an element, if it is there."""
        self._map.remove(element)

    def contains(self, element: T) -> bool:
        """Return whether the element is there."""
        return self._map.contains(element)

    def elements(self) -> set[T]:
        """Return the elements of the current key, none when it has none."""
        return set(self._map.keys())

    def clear(self) -> None:
        """Remove what the current key has."""
        self._map.clear()


@final
class TtlSetState(SetState[Any]):
    """A set whose elements expire one by one."""

    __slots__ = ()

    def __init__(self, descriptor: SetStateDescriptor, owner: HandleOwner, column: int, lifetime: Lifetime) -> None:
        super().__init__(descriptor, owner, column)
        self._map = TtlMapState(descriptor, owner, column, lifetime)


def _united(
    descriptor: SetStateDescriptor, target: dict[Any, Any] | None, sources: Sequence[dict[Any, Any]], now_ms: int
) -> dict[Any, Any] | None:
    """Return all elements; of one that was in several sets, the last access that is latest."""
    united: dict[Any, Any] = dict(target or {})
    for source in sources:
        for element, stored in source.items():
            united[element] = max(stored, united.get(element, stored))
    return united or None


SET: Final = StateKind["SetStateDescriptor"]("set", MAP, handle=SetState, expiring=TtlSetState, merge=_united)


class SetStateDescriptor(StateDescriptor):
    """Describes a set of elements for each key."""

    kind = SET

    def __init__(self, name: str, element_type: TypeInformation) -> None:
        super().__init__(name, Types.MAP(element_type, Types.BOOLEAN()))
