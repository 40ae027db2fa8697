"""Broadcast state: a map of which each subtask of an operator has a copy, and a read-only view of it."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Generic, NoReturn, TypeVar, final, overload

from headgate.errors import StateAccessError
from headgate.state.descriptors import MapStateDescriptor
from headgate.state.type_check import TypeCheck

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


class ReadOnlyBroadcastState(Generic[K, V]):
    """A read-only view of broadcast state, for code that processes elements that are not broadcast.

    Each subtask receives other elements, so writes there would make the copies differ.
    """

    __slots__ = ("_entries", "_name")

    def __init__(self, name: str, entries: dict[K, V]) -> None:
        self._name = name
        self._entries = entries

    @overload
    def get(self, key: K) -> V | None: ...

    @overload
    def get(self, key: K, default: D) -> V | D: ...

    def get(self, key: K, default: D | None = None) -> V | D | None:
        """Return the value of a key, `default` if the key has none."""
        return self._entries.get(key, default)

    def contains(self, key: K) -> bool:
        """Return whether the key has a value, which may be None."""
        return key in self._entries

    def items(self) -> ItemsView[K, V]:
        """Return a view of the entries, in the order in which their keys were first put."""
        return self._entries.items()

    def keys(self) -> KeysView[K]:
        """Return a view of the keys."""
        return self._entries.keys()

    def values(self) -> ValuesView[V]:
        """Return a view of the values."""
        return self._entries.values()

    def is_empty(self) -> bool:
        """Return whether the map has no entries."""
        return not self._entries

    def put(self, key: K, value: V) -> None:
        """Set the value of a key. Like all writing methods, it raises `StateAccessError` on a read-only view."""
        self._refuse()

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the values of several keys."""
        self._refuse()

    def remove(self, key: K) -> None:
        """Remove a key, if the map has it."""
        self._refuse()

    def clear(self) -> None:
        """Remove all entries."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise StateAccessError(
            f"broadcast state {self._name!r} cannot be written here: each subtask gets records of its own, and their "
            "copies of the state would differ; write it in process_broadcast_element(), which every subtask calls for "
            "every broadcast element"
        )

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, {len(self._entries)} entries)"


@final
class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """A map of which each subtask has a copy. All subtasks must put the same entries, in any order.

    Writes raise `StateAccessError` for a key or a value that is not of the declared type.
    """

    __slots__ = ("_type_check",)

    def __init__(self, descriptor: MapStateDescriptor, entries: dict[K, V]) -> None:
        super().__init__(descriptor.name, entries)
        self._type_check = TypeCheck(descriptor)

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self.put_all({key: value})

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the values of all keys of a mapping. If a type is wrong, nothing is set."""
        fitted = dict(dict_value)
        for key, value in dict_value.items():
            if key is not None:
                self._type_check.map_key(key)
            if value is not None:
                fitted[key] = self._type_check.value(value)
        self._entries.update(fitted)

    def remove(self, key: K) -> None:
        """Remove a key, if the map has it."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Remove all keys."""
        self._entries.clear()

    def read_only(self) -> ReadOnlyBroadcastState[K, V]:
        """Return a read-only view. It shows later changes, too."""
        return ReadOnlyBroadcastState(self._name, self._entries)
