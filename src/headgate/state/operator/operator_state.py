"""Operator state: the lists and broadcast maps of one operator in one subtask, in memory with every backend.

A snapshot pickles each element at the barrier itself, because the program may change its objects with the next record.
So the pause grows with the size of this state: state that grows with the data belongs on a keyed stream. Restored state
that no function asks for is kept, and goes into the next snapshot.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, final

from headgate.errors import ProgramError, RestoreError, SerializationError, StateAccessError
from headgate.state.descriptors import (
    BROADCAST,
    OPERATOR_LIST,
    UNION_LIST,
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
)
from headgate.state.formats.schema import Incompatible, Migrate, StateMeta, compatibility
from headgate.state.operator.broadcast_state import BroadcastState
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.state.type_check import TypeCheck
from headgate.types.typeinfo import TypeInformation

T = TypeVar("T")

_KIND_OF: Final = {
    ListMode.SPLIT: OPERATOR_LIST.name,
    ListMode.UNION: UNION_LIST.name,
    ListMode.BROADCAST: BROADCAST.name,
}


@final
class OperatorListState(Generic[T]):
    """A list of one operator in one subtask, from `get_list_state` or `get_union_list_state` of `OperatorStateStore`.

    Writes raise `StateAccessError` for an element that is not of the declared type.
    """

    __slots__ = ("_name", "_type_check", "_values")

    def __init__(self, descriptor: ListStateDescriptor, values: list[T]) -> None:
        self._name = descriptor.name
        self._type_check = TypeCheck(descriptor)
        self._values = values

    def get(self) -> list[T]:
        """Return the elements in order, in a new list."""
        return list(self._values)

    def add(self, value: T) -> None:
        """Append an element. Raises `StateAccessError` for None."""
        if value is None:
            raise StateAccessError(f"operator state {self._name!r}: None cannot be an element")
        self._values.append(self._type_check.value(value))

    def add_all(self, values: Iterable[T]) -> None:
        """Append elements, or none if one is invalid. Raises `StateAccessError` if `values` or an element is None."""
        self._values += self._checked(values)

    def update(self, values: Iterable[T]) -> None:
        """Replace all elements, or none if one is invalid. Raises `StateAccessError` as `add_all` does."""
        self._values[:] = self._checked(values)

    def clear(self) -> None:
        """Remove all elements."""
        self._values.clear()

    def _checked(self, values: Iterable[T]) -> list[T]:
        if values is None:
            raise StateAccessError(
                f"operator state {self._name!r}: None is not a list of elements; clear() empties a list"
            )
        elements = list(values)
        if any(value is None for value in elements):
            raise StateAccessError(f"operator state {self._name!r}: None cannot be an element")
        return list(map(self._type_check.value, elements))

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"OperatorListState({self._name!r}, {len(self._values)} elements)"


@final
@dataclass(frozen=True, slots=True)
class _Declared:
    """The declaration of a state."""

    descriptor: StateDescriptor
    mode: ListMode

    @property
    def meta(self) -> StateMeta:
        """The description that snapshots store of the state."""
        return StateMeta(self.descriptor.name, _KIND_OF[self.mode], self.descriptor.type_info)


@final
class _State:
    """A state in use: its declaration, its handle, and a function that returns the elements for a snapshot."""

    __slots__ = ("declared", "elements", "handle")

    def __init__(self, declared: _Declared, handle: Any, elements: Callable[[], Iterable[Any]]) -> None:
        self.declared = declared
        self.handle = handle
        self.elements = elements


@final
class OperatorStateStore:
    """The operator states of one operator in one subtask, by name. A name belongs to one kind and type.

    >>> from headgate.types.typeinfo import Types
    >>> store = OperatorStateStore("sink", subtask=0)
    >>> pending = store.get_list_state(ListStateDescriptor("pending", Types.STRING()))
    >>> pending.add("a")
    >>> store.get_list_state(ListStateDescriptor("pending", Types.STRING())).get()
    ['a']
    """

    def __init__(
        self,
        operator: str,
        subtask: int,
        restored: Mapping[str, ListElements] | None = None,
        moved: Mapping[str, str] | None = None,
    ) -> None:
        """Create the store. `operator` is the name in messages, `restored` the state of this subtask in the snapshot.

        `moved` maps the old names of moved classes to their new names (`headgate.state.formats.unpickle`).
        """
        self._operator = operator
        self._subtask = subtask
        self._states: dict[str, _State] = {}
        self._unclaimed = dict(restored or {})
        self._moved = moved or {}

    def get_list_state(self, descriptor: ListStateDescriptor) -> OperatorListState[Any]:
        """Return a list whose elements are redistributed evenly when the parallelism changes.

        Raises `ProgramError` if the name is in use for another kind or type, and `RestoreError` if the restored state
        of this name has another kind or type.
        """
        return self._list(descriptor, ListMode.SPLIT)

    def get_union_list_state(self, descriptor: ListStateDescriptor) -> OperatorListState[Any]:
        """Return a list that contains the elements of all subtasks after a restore.

        A function must keep only its own part of the elements, otherwise the list grows with each restore. Raises as
        `get_list_state` does.
        """
        return self._list(descriptor, ListMode.UNION)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """Return a map of which each subtask has a copy. All subtasks must put the same entries.

        Raises as `get_list_state` does.
        """
        known = self._states.get(state_descriptor.name) if isinstance(state_descriptor, MapStateDescriptor) else None
        if (
            known is not None
            and known.declared.descriptor is state_descriptor
            and known.declared.mode is ListMode.BROADCAST
        ):
            return known.handle  # type: ignore[no-any-return]  # fast path: functions get the handle for each record
        declared = self._declared(state_descriptor, MapStateDescriptor, ListMode.BROADCAST)
        if state_descriptor.name not in self._states:
            entries: dict[Any, Any] = self._take(declared, dict)
            handle: BroadcastState[Any, Any] = BroadcastState(state_descriptor, entries)
            self._states[state_descriptor.name] = _State(declared, handle, entries.items)
        return self._states[state_descriptor.name].handle  # type: ignore[no-any-return]  # of this kind, as is checked

    def _list(self, descriptor: ListStateDescriptor, mode: ListMode) -> OperatorListState[Any]:
        declared = self._declared(descriptor, ListStateDescriptor, mode)
        if descriptor.name not in self._states:
            values: list[Any] = self._take(declared, list)
            handle = OperatorListState(descriptor, values)
            self._states[descriptor.name] = _State(declared, handle, lambda: values)
        return self._states[descriptor.name].handle  # type: ignore[no-any-return]  # of this kind, as is checked

    def _declared(self, descriptor: StateDescriptor, kind: type[StateDescriptor], mode: ListMode) -> _Declared:
        """Return the declaration of a state. Raises `ProgramError` if the name is in use for another state."""
        if not isinstance(descriptor, kind):
            raise ProgramError(f"operator {self._operator!r}: this state needs a {kind.__name__}, not {descriptor!r}")
        declared = _Declared(descriptor, mode)
        if descriptor.ttl is not None:
            raise ProgramError(
                f"operator {self._operator!r} gives {declared.meta.describe()} {descriptor.name!r} a time to live, "
                "which only keyed state has; keep the time with each element and remove what is too old"
            )
        known = self._states.get(descriptor.name)
        if known is not None and known.declared.meta != declared.meta:
            raise ProgramError(
                f"operator {self._operator!r} declares state {descriptor.name!r} twice, as "
                f"{known.declared.meta.describe()} and as {declared.meta.describe()}; give one of them another name"
            )
        return declared

    def _take(self, declared: _Declared, container: Callable[[list[Any]], Any]) -> Any:
        """Return the restored content of a state.

        Raises `RestoreError` if it cannot be converted to the declared type.
        """
        name = declared.descriptor.name
        saved = self._unclaimed.get(name)
        if saved is None:
            return container([])
        outcome = compatibility(self._saved_meta(name, saved), declared.meta)
        if isinstance(outcome, Incompatible):
            raise RestoreError(f"operator {self._operator!r}: {outcome.reason}")
        values = container(saved.values(f"state {name!r} of operator {self._operator!r}", self._moved))
        del self._unclaimed[name]
        return outcome.convert(values) if isinstance(outcome, Migrate) else values

    def _saved_meta(self, name: str, saved: ListElements) -> StateMeta:
        if not saved.type:
            raise RestoreError(
                f"operator {self._operator!r}: state {name!r} was saved by an operator of another kind; give the state "
                "another name, or the operator another uid"
            )
        return StateMeta(name, _KIND_OF[saved.mode], TypeInformation.from_json(json.loads(saved.type)))

    # --- snapshots

    def snapshot(self) -> dict[str, ListElements]:
        """Return all elements as they are now. Raises `SerializationError` that names the state."""
        return {name: self._kept(saved) for name, saved in self._unclaimed.items()} | {
            name: self._pickled(state) for name, state in self._states.items()
        }

    def _kept(self, saved: ListElements) -> ListElements:
        """Return restored state that no function asked for.

        Every subtask got a whole union, so only subtask 0 saves it.
        """
        if saved.mode is ListMode.UNION and self._subtask > 0:
            return ListElements(saved.mode, [], saved.type)
        return saved

    def _pickled(self, state: _State) -> ListElements:
        elements: list[bytes] = []
        value: Any = None
        try:
            for value in state.elements():
                elements.append(pickle.dumps(value, 5))
        except Exception as error:
            meta = state.declared.meta
            raise SerializationError(
                f"operator {self._operator!r}: {meta.kind} state {meta.name!r} holds {_described(value, meta)} that "
                f"cannot be pickled: {error}; keep plain data in state, and classes that a module or the main script "
                "defines at top level"
            ) from error
        declared = state.declared
        return ListElements(declared.mode, elements, json.dumps(declared.descriptor.type_info.to_json()))


def _described(value: Any, meta: StateMeta) -> str:
    if meta.kind == _KIND_OF[ListMode.BROADCAST]:
        return f"an entry for key {value[0]!r}"
    return f"a {type(value).__name__}"
