"""Broadcast state: a map of which every subtask of an operator has a copy, and its read-only side."""

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
    """The side of broadcast state that cannot be written: what records that are not broadcast see.

    Each subtask gets its own records, so what they wrote would make the copies differ.
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
        """Return the value of a key, or the default when there is none."""
        return self._entries.get(key, default)

    def contains(self, key: K) -> bool:
        """Return whether the key has a value, which may be None."""
        return key in self._entries

    def items(self) -> ItemsView[K, V]:
        """Return a view of the entries, in the order in which their keys were put first."""
        return self._entries.items()

    def keys(self) -> KeysView[K]:
        """Return a view of the keys."""
        return self._entries.keys()

    def values(self) -> ValuesView[V]:
        """Return a view of the values."""
        return self._entries.values()

    def is_empty(self) -> bool:
        """Return whether there is no entry."""
        return not self._entries

    def put(self, key: K, value: V) -> None:
        """Set the value of a key. Raises `StateAccessError` on the side that cannot be written, as all below do."""
        self._refuse()

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the values of several keys."""
        self._refuse()

    def remove(self, key: K) -> None:
        """Remove a key, if it is there."""
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
    """A map of which every subtask has a copy. All subtasks have to put the same into it, in any order.

    Raises `StateAccessError` for keys and values of another type than the declared one.
    """

    __slots__ = ("_type_check",)

    def __init__(self, descriptor: MapStateDescriptor, entries: dict[K, V]) -> None:
        super().__init__(descriptor.name, entries)
        self._type_check = TypeCheck(descriptor)

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self.put_all({key: value})

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the values of all keys of the dict."""
        fitted = dict(dict_value)
        for key, value in dict_value.items():
            if key is not None:
                self._type_check.map_key(key)
            if value is not None:
                fitted[key] = self._type_check.value(value)
        self._entries.update(fitted)

    def remove(self, key: K) -> None:
        """Remove a key; one that is not in the map is no error."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Remove all keys."""
        self._entries.clear()

    def read_only(self) -> ReadOnlyBroadcastState[K, V]:
        """Return the side that cannot be written; it shows what is put here later, too."""
        return ReadOnlyBroadcastState(self._name, self._entries)
