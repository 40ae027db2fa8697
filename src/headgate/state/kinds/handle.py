"""Handles: what user code holds to read and write the state of the current key.

A handle is bound to a column of its backend's cells; the backend sets the current cell before each record. So an access
is one attribute and one index, whatever the number of keys. One set of classes serves all backends; state with a time
to live has subclasses of its own. The rules for None, for empty state and for errors are in docs/guides/state.md.

All methods raise `StateAccessError` where there is no current key (in `open`, in `close`). None blocks, except state
that a backend keeps on disk.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

from headgate.clock import Clock
from headgate.state.keyed.ttl_cleanup import IncrementalCleanup
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.owner import HandleOwner
from headgate.state.type_check import TypeCheck

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
    """State that takes values."""

    def get(self) -> OUT_co:
        """Return what the added values come to."""
        ...

    def add(self, value: IN_contra) -> None:
        """Add a value."""
        ...


@runtime_checkable
class MergingState(AppendingState[IN_contra, OUT_co], Protocol[IN_contra, OUT_co]):
    """State that takes values, and that can be merged with another (when session windows merge)."""


class Handle:
    """A name, the backend, and the column.

    What is written has to be of the declared type. `_fitting` is the class of the last value that was: those that
    follow of the same class are taken without a look.
    """

    __slots__ = ("_column", "_fitting", "_name", "_owner", "_type_check")

    def __init__(self, descriptor: StateDescriptor, owner: HandleOwner, column: int) -> None:
        self._name = descriptor.name
        self._owner = owner
        self._column = column
        self._fitting: type = Handle  # no value is one
        self._type_check = TypeCheck(descriptor)

    @property
    def column(self) -> int:
        """Where the state lies in a cell, for operators that look at it themselves."""
        return self._column

    def clear(self) -> None:
        """Remove what the current key has."""
        raise NotImplementedError

    async def async_clear(self) -> None:
        """Do as `clear` does, once the state of the key is in memory."""
        await self._owner.loaded()
        self.clear()

    def _fit(self, value: Any) -> Any:
        """Return the value, which is not None, as one of the declared type. Raises `StateAccessError` if it is none."""
        fitted = self._type_check.value(value)
        if fitted is value:
            self._fitting = type(value)
        return fitted

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


def bind(
    descriptor: StateDescriptor,
    owner: HandleOwner,
    column: int,
    clock: Clock,
    cleanup: IncrementalCleanup | None = None,
) -> State:
    """Return a new handle of the state, which lies in `column` of the owner's cells.

    With a time to live, `clock` tells the time, and `cleanup` goes on with each access.
    """
    kind = descriptor.kind
    if descriptor.ttl is None:
        return kind.handle(descriptor, owner, column)
    return kind.expiring(descriptor, owner, column, Lifetime(descriptor.ttl, clock, cleanup))
