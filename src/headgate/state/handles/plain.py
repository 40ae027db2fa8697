"""Handles of state that does not expire. The rules for None, for empty state and for errors are in docs/state.md.

All methods raise `StateAccessError` where there is no current key (in `open`, in `close`). None blocks, but for state
that a backend keeps on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from headgate.errors import ProgramError, StateAccessError
from headgate.state.descriptors import AggregatingStateDescriptor, ReducingStateDescriptor, StateDescriptor
from headgate.state.handles.owner import Owner
from headgate.state.type_check import TypeCheck

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")
IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)


@runtime_checkable
class State(Protocol):
    """Any state of the current key."""

    def clear(self) -> None:
        """Remove what the current key has."""
        ...


@runtime_checkable
class AppendingState(State, Protocol[IN_contra, OUT_co]):
    """State that values are added to."""

    def get(self) -> OUT_co:
        """Return what the added values come to."""
        ...

    def add(self, value: IN_contra) -> None:
        """Add a value."""
        ...


@runtime_checkable
class MergingState(AppendingState[IN_contra, OUT_co], Protocol[IN_contra, OUT_co]):
    """State that values are added to, and of which two can be made one (when session windows merge)."""


class Handle:
    """A name, the backend, and the column.

    What is written has to be of the declared type. `_fitting` is the class of the last value that was: those that
    follow of the same class are taken without a look.
    """

    __slots__ = ("_column", "_fitting", "_name", "_owner", "_type_check")

    def __init__(self, descriptor: StateDescriptor, owner: Owner, column: int) -> None:
        self._name = descriptor.name
        self._owner = owner
        self._column = column
        self._fitting: type = Handle  # no value is one
        self._type_check = TypeCheck(descriptor)

    def _fit(self, value: Any) -> None:
        """Raise `StateAccessError` unless the value, which is not None, is of the declared type."""
        self._type_check.value(value)
        self._fitting = type(value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"


class SingleHandle(Handle):
    """Its column holds one object."""

    __slots__ = ()

    def stored(self) -> Any | None:
        """Return what the column holds for the current key."""
        return self._owner.cell[self._column]

    def store(self, stored: Any | None) -> None:
        """Set what the column holds for the current key; None clears it."""
        if stored is None:
            self.clear()
        else:
            self._owner.cell[self._column] = stored

    def clear(self) -> None:
        """Remove what the current key has."""
        owner = self._owner
        owner.cell[self._column] = None
        owner.emptied.append(owner.cell)


class ContainerHandle(Handle):
    """Its column holds a container."""

    __slots__ = ()

    def clear(self) -> None:
        """Remove what the current key has."""
        self._owner.drop(self._column)


class ValueState(SingleHandle, Generic[T]):
    """One value for each key. The value is the live object: after changing it in place, call `update`."""

    __slots__ = ()

    def value(self) -> T | None:
        """Return the value of the current key, None when it has none."""
        return self._owner.cell[self._column]  # type: ignore[no-any-return]  # a cast costs a call for each record

    def update(self, value: T | None) -> None:
        """Set the value of the current key; None clears it. Raises `StateAccessError` for one of another type."""
        if type(value) is not self._fitting:
            if value is None:
                self.clear()
                return
            self._fit(value)
        self._owner.cell[self._column] = value


class ListState(ContainerHandle, Generic[T]):
    """A list for each key, in the order in which elements were added. No element is None."""

    __slots__ = ()

    def get(self) -> Iterable[T]:
        """Return the elements of the current key, none when it has none.

        They are those of now: what is added or cleared later changes nothing of what was returned, nor does changing
        what was returned change the state.
        """
        elements = self._owner.cell[self._column]
        return [] if elements is None else list(elements)

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def add(self, value: T) -> None:
        """Add an element at the end. Raises `StateAccessError` when it is None, or of another type."""
        if type(value) is not self._fitting:
            self._fit_element("add()", value)
        elements = self._owner.cell[self._column]
        if elements is None:
            self._owner.cell[self._column] = self._owner.new_list(self._column, [value])
        else:
            elements.append(value)

    def add_all(self, values: Iterable[T]) -> None:
        """Add elements at the end.

        Raises `StateAccessError` when `values`, or one of them, is None, or one is of another type.
        """
        self._extend(self._checked("add_all()", values))

    def update(self, values: Iterable[T]) -> None:
        """Replace the elements; no elements is the same as `clear`.

        Raises `StateAccessError` when `values`, or one of them, is None, or one is of another type.
        """
        self._replace(self._checked("update()", values))

    def _extend(self, fresh: list[Any]) -> None:
        elements = self._owner.cell[self._column]
        if elements is None:
            self._replace(fresh)
        else:
            elements.extend(fresh)

    def _replace(self, fresh: list[Any]) -> None:
        if fresh:
            self._owner.cell[self._column] = self._owner.new_list(self._column, fresh)
        else:
            self.clear()

    def _checked(self, method: str, values: Iterable[T] | None) -> list[T]:
        if values is None:
            raise self._no_none(method)
        fresh = list(values)
        for value in fresh:
            if type(value) is not self._fitting:
                self._fit_element(method, value)
        return fresh

    def _fit_element(self, method: str, value: Any) -> None:
        if value is None:
            raise self._no_none(method)
        self._fit(value)

    def _no_none(self, method: str) -> StateAccessError:
        return StateAccessError(
            f"{method} of list state {self._name!r} got None, which a list state does not hold; leave it out, or call "
            "clear() to remove what the key has"
        )


class MapState(ContainerHandle, Generic[K, V]):
    """A map, of keys of its own, for each key of the stream. Its values may be None.

    What `items`, `keys` and `values` return is the map as it is when they are called: changing it while going through
    them is allowed, and not seen by them. Values are the live objects: after changing one in place, call `put`.
    """

    __slots__ = ("_fitting_key",)

    def __init__(self, descriptor: StateDescriptor, owner: Owner, column: int) -> None:
        super().__init__(descriptor, owner, column)
        self._fitting_key: type = Handle

    def get(self, key: K) -> V | None:
        """Return the value of the key, None when there is none."""
        content = self._owner.cell[self._column]
        return None if content is None else content.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of the key. Raises `StateAccessError` when either is of another type."""
        self._fit_entry(key, value)
        self._put(key, value)

    def _fit_entry(self, key: K, value: V) -> None:
        if type(value) is not self._fitting and value is not None:
            self._fit(value)
        if type(key) is not self._fitting_key and key is not None:
            self._type_check.map_key(key)
            self._fitting_key = type(key)

    def _put(self, key: K, value: Any) -> None:
        content = self._owner.cell[self._column]
        if content is None:
            fresh = self._owner.new_map(self._column)
            fresh[key] = value
            self._owner.cell[self._column] = fresh
        else:
            content[key] = value

    def put_all(self, dict_value: Mapping[K, V] | None) -> None:
        """Set the values of all these keys; None does nothing."""
        for key, value in (dict_value or {}).items():
            self.put(key, value)

    def remove(self, key: K) -> None:
        """Remove the key with its value, if it is there. With its last key, the map is as cleared."""
        content = self._owner.cell[self._column]
        if content is not None and key in content:
            del content[key]
            if not content:
                self.clear()

    def contains(self, key: K) -> bool:
        """Return whether the key is there, be its value None or not."""
        content = self._owner.cell[self._column]
        return content is not None and key in content

    def items(self) -> Iterable[tuple[K, V]]:
        """Return keys with their values, none when the map is empty."""
        content = self._owner.cell[self._column]
        return () if content is None else list(content.items())

    def keys(self) -> Iterable[K]:
        """Return the keys, none when the map is empty."""
        content = self._owner.cell[self._column]
        return () if content is None else list(content.keys())

    def values(self) -> Iterable[V]:
        """Return the values, none when the map is empty."""
        content = self._owner.cell[self._column]
        return () if content is None else list(content.values())

    def is_empty(self) -> bool:
        """Return whether the map has no keys."""
        return not self._owner.cell[self._column]

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class ReducingState(SingleHandle, Generic[T]):
    """One value for each key: the combination of all that were added."""

    __slots__ = ("_combine",)

    def __init__(self, descriptor: ReducingStateDescriptor, owner: Owner, column: int) -> None:
        super().__init__(descriptor, owner, column)
        self._combine = descriptor.combine

    def get(self) -> T | None:
        """Return the combination, None when nothing was added."""
        return self._owner.cell[self._column]  # type: ignore[no-any-return]  # a cast costs a call for each record

    def add(self, value: T | None) -> None:
        """Combine what is there with `value`; the first value is stored as it is. None clears the state.

        Raises `StateAccessError` when what comes of it is of another type.
        """
        if value is not None:
            value = self._combined(self._owner.cell[self._column], value)
        if value is None:
            self.clear()
        else:
            self._owner.cell[self._column] = value

    def _combined(self, so_far: T | None, value: T) -> T | None:
        combined: T | None = value if so_far is None else self._combine(so_far, value)
        if type(combined) is not self._fitting and combined is not None:
            self._fit(combined)
        return combined


class AggregatingState(SingleHandle, Generic[IN, OUT]):
    """An accumulator for each key; values go in, and a result comes out."""

    __slots__ = ("_function",)

    def __init__(self, descriptor: AggregatingStateDescriptor, owner: Owner, column: int) -> None:
        super().__init__(descriptor, owner, column)
        self._function = descriptor.get_agg_function()

    def get(self) -> OUT | None:
        """Return the result of what was added, None when nothing was."""
        accumulator = self._owner.cell[self._column]
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: IN | None) -> None:
        """Add a value to the accumulator. None clears the state.

        Raises `ProgramError` when the aggregate function returns None as an accumulator, `StateAccessError` when that
        is of another type than the state.
        """
        if value is None:
            self.clear()
        else:
            self._owner.cell[self._column] = self._accumulated(value, self._owner.cell[self._column])

    def _accumulated(self, value: IN, accumulator: Any) -> Any:
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        accumulator = self._function.add(value, accumulator)
        if accumulator is None:
            raise ProgramError(
                f"add() of {type(self._function).__name__}, the function of aggregating state {self._name!r}, returned "
                "None; return the accumulator, also when it was changed in place"
            )
        if type(accumulator) is not self._fitting:
            self._fit(accumulator)
        return accumulator
