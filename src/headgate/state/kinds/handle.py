"""Handles, with which user code reads and writes the state of the current key.

A handle belongs to one column of the backend's cells. The backend sets the current cell before each record, so an
access costs one attribute and one index. docs/guides/state.md has the rules for None, empty state and errors.

The classes of the API, such as `ValueState`, have the methods and no attributes. Their subclasses have the attributes,
by `Attributes`: one for each kind, and one for its state with a time to live. They serve all backends.

All methods raise `StateAccessError` if there is no current key, as in `open` and `close`. No method blocks, except for
state that a backend keeps on disk.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol, TypeVar, runtime_checkable

from headgate.state.keyed.cells import Current
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.kinds.owner import HandleOwner
from headgate.state.type_check import TypeCheck

IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)


@runtime_checkable
class State(Protocol):
    """State of the current key."""

    def clear(self) -> None:
        """Remove the state of the current key."""
        ...


@runtime_checkable
class AppendingState(State, Protocol[IN_contra, OUT_co]):
    """State to which values are added."""

    def get(self) -> OUT_co:
        """Return the result of the added values."""
        ...

    def add(self, value: IN_contra) -> None:
        """Add a value."""
        ...


@runtime_checkable
class MergingState(AppendingState[IN_contra, OUT_co], Protocol[IN_contra, OUT_co]):
    """State to which values are added, and that can be merged with other state, as session windows need it."""


class Handle:
    """The name of a state, its backend, and its column.

    A written value must have the declared type. `_fitting` is the class of the last value that passed the check.
    Further values of the same class are written unchecked, because a check costs a call for each record.
    """

    __slots__ = ()

    _name: str
    _owner: HandleOwner
    _current: Current
    _column: int
    _fitting: type
    _type_check: TypeCheck

    @property
    def column(self) -> int:
        """The index of the state's column in a cell, for operators that read cells directly."""
        return self._column

    def clear(self) -> None:
        """Remove the state of the current key."""
        raise NotImplementedError

    async def async_clear(self) -> None:
        """Load the state of the current key, if needed, and clear it."""
        await self._owner.loaded()
        self.clear()

    def _fit(self, value: Any) -> Any:
        """Return a value, which is not None, as a value of the declared type.

        Raises `StateAccessError` for another type.
        """
        fitted = self._type_check.value(value)
        if fitted is value:
            self._fitting = type(value)  # type: ignore[misc]  # an attribute of the subclasses
        return fitted

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} is the state of a running job, which cannot be pickled or copied: emit and keep its value, and "
            "get the state in open() of each function that uses it"
        )

    def __repr__(self) -> str:
        return f"<{self._type_check.state}>"


class Attributes:
    """The attributes of a `Handle`."""

    __slots__ = ("_column", "_current", "_fitting", "_name", "_owner", "_type_check")

    def __init__(self, descriptor: StateDescriptor, owner: HandleOwner, column: int) -> None:
        self._name = descriptor.name
        self._owner = owner
        self._current = owner.current
        self._column = column
        self._fitting: type = Handle  # no value has this class
        self._type_check = TypeCheck(descriptor)


class SingleHandle(Handle):
    """A handle whose column holds one object."""

    __slots__ = ()

    def stored(self) -> Any | None:
        """Return the content of the column for the current key."""
        return self._current.cell[self._column]

    def store(self, stored: Any | None) -> None:
        """Set the content of the column for the current key. None clears it."""
        if stored is None:
            self.clear()
        else:
            self._current.cell[self._column] = stored

    def clear(self) -> None:
        """Remove the state of the current key."""
        current = self._current
        current.cell[self._column] = None
        current.emptied.append(current.cell)


class ContainerHandle(Handle):
    """A handle whose column holds a list or a map."""

    __slots__ = ()

    def clear(self) -> None:
        """Remove the state of the current key."""
        self._owner.drop(self._column)
