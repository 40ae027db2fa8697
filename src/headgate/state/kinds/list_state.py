"""List state: a list of elements for each key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar, final

from headgate.errors import StateAccessError
from headgate.state.kinds import forms
from headgate.state.kinds.forms import Stamped
from headgate.state.kinds.handle import Attributes, ContainerHandle
from headgate.state.kinds.kind import StateDescriptor, StateKind, checked_type
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.owner import HandleOwner
from headgate.types.typeinfo import TypeInformation, Types

T = TypeVar("T")


class ListState(ContainerHandle, Generic[T]):
    """A list for each key, in the order in which elements were added. An element is never None."""

    __slots__ = ()

    def get(self) -> Iterable[T]:
        """Return the elements of the current key in a new list, which is empty if there are none.

        Later changes of the state do not change the list, and changes of the list do not change the state.
        """
        elements = self._current.cell[self._column]
        return [] if elements is None else list(elements)

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def add(self, value: T) -> None:
        """Add an element at the end. Raises `StateAccessError` if it is None or of another type."""
        if type(value) is not self._fitting:
            value = self._fit_element("add()", value)
        elements = self._current.cell[self._column]
        if elements is None:
            self._current.cell[self._column] = self._owner.new_list(self._column, [value])
        else:
            elements.append(value)

    def add_all(self, values: Iterable[T]) -> None:
        """Add elements at the end.

        Raises `StateAccessError` if `values` or an element is None, or if an element is of another type.
        """
        self._extend(self._checked("add_all()", values))

    def update(self, values: Iterable[T]) -> None:
        """Replace all elements. Without elements, `update` clears the state.

        Raises `StateAccessError` if `values` or an element is None, or if an element is of another type.
        """
        self._replace(self._checked("update()", values))

    async def async_get(self) -> Iterable[T]:
        """Load the state of the current key, if needed, and return as `get` does."""
        await self._owner.loaded()
        return self.get()

    async def async_add(self, value: T) -> None:
        """Load the state of the current key, if needed, and add as `add` does."""
        await self._owner.loaded()
        self.add(value)

    async def async_add_all(self, values: Iterable[T]) -> None:
        """Load the state of the current key, if needed, and add as `add_all` does."""
        await self._owner.loaded()
        self.add_all(values)

    async def async_update(self, values: Iterable[T]) -> None:
        """Load the state of the current key, if needed, and set as `update` does."""
        await self._owner.loaded()
        self.update(values)

    def _extend(self, fresh: list[Any]) -> None:
        elements = self._current.cell[self._column]
        if elements is None:
            self._replace(fresh)
        else:
            elements.extend(fresh)

    def _replace(self, fresh: list[Any]) -> None:
        if fresh:
            self._current.cell[self._column] = self._owner.new_list(self._column, fresh)
        else:
            self.clear()

    def _checked(self, method: str, values: Iterable[T] | None) -> list[T]:
        if values is None:
            raise self._no_none(method)
        fresh = list(values)
        for place, value in enumerate(fresh):
            if type(value) is not self._fitting:
                fresh[place] = self._fit_element(method, value)
        return fresh

    def _fit_element(self, method: str, value: Any) -> Any:
        if value is None:
            raise self._no_none(method)
        return self._fit(value)

    def _no_none(self, method: str) -> StateAccessError:
        return StateAccessError(
            f"{method} of list state {self._name!r} got None, which a list state does not hold; leave it out, or call "
            "clear() to remove what the key has"
        )


class PythonListState(Attributes, ListState[Any]):
    """The handle without a time to live."""

    __slots__ = ()


@final
class TtlListState(PythonListState):
    """A list whose elements expire one by one. Expired elements are hidden, and removed when all have expired."""

    __slots__ = ("lifetime",)

    def __init__(self, descriptor: StateDescriptor, owner: HandleOwner, column: int, lifetime: Lifetime) -> None:
        super().__init__(descriptor, owner, column)
        self.lifetime = lifetime

    def get(self) -> Iterable[Any]:
        now_ms = self.lifetime.access()
        stored = list(super().get())
        if not stored:
            return stored
        dead_ms = now_ms - self.lifetime.ttl_ms
        living = [stamped for stamped in stored if stamped[0] > dead_ms]
        if not living:
            self.clear()
        elif self.lifetime.refreshes:
            self._replace([(now_ms, element) for _, element in living])
        return [element for _, element in (stored if self.lifetime.returns_expired else living)]

    def add(self, value: Any) -> None:
        if type(value) is not self._fitting:
            value = self._fit_element("add()", value)
        self._extend([(self.lifetime.access(), value)])

    def add_all(self, values: Iterable[Any]) -> None:
        self._extend(self._stamped("add_all()", values))

    def update(self, values: Iterable[Any]) -> None:
        self._replace(self._stamped("update()", values))

    def _stamped(self, method: str, values: Iterable[Any]) -> list[Stamped]:
        now_ms = self.lifetime.access()
        return [(now_ms, value) for value in self._checked(method, values)]


def _joined(
    descriptor: ListStateDescriptor, target: list[Any] | None, sources: Sequence[list[Any]], now_ms: int
) -> list[Any] | None:
    contents = sources if target is None else (target, *sources)
    return [element for content in contents for element in content] or None


LIST: Final = StateKind["ListStateDescriptor"](
    "list", forms.LIST, handle=PythonListState, expiring=TtlListState, merge=_joined
)


class ListStateDescriptor(StateDescriptor):
    """Describes a list of elements for each key.

    >>> ListStateDescriptor("visits", Types.STRING())
    ListStateDescriptor('visits', ListTypeInfo<String>)
    """

    kind = LIST

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, Types.LIST(checked_type(name, elem_type_info)))
