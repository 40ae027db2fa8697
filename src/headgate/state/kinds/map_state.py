"""Map state: a map for each key of the stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar, final

from headgate.state.kinds import forms
from headgate.state.kinds.forms import Stamped
from headgate.state.kinds.handle import Attributes, ContainerHandle, Handle
from headgate.state.kinds.kind import StateDescriptor, StateKind, checked_type
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.owner import HandleOwner
from headgate.types.typeinfo import TypeInformation, Types

K = TypeVar("K")
V = TypeVar("V")


class MapState(ContainerHandle, Generic[K, V]):
    """A map for each key of the stream. Its values may be None.

    `items`, `keys` and `values` return a copy of the map at the time of the call, so the map may change during an
    iteration. Values are the stored objects themselves: after changing one, call `put`.
    """

    __slots__ = ()

    _fitting_key: type

    def get(self, key: K) -> V | None:
        """Return the value of the key, None if it has none."""
        content = self._current.cell[self._column]
        return None if content is None else content.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of the key. Raises `StateAccessError` if the key or the value is of another type."""
        self._put(key, self._fit_entry(key, value))

    def _fit_entry(self, key: K, value: V) -> V:
        """Return the value as a value of the declared type.

        Raises `StateAccessError` if the key or the value is of another type.
        """
        if type(key) is not self._fitting_key and key is not None:
            self._type_check.map_key(key)
            self._fitting_key = type(key)  # type: ignore[misc]  # an attribute of the subclasses
        if type(value) is not self._fitting and value is not None:
            return self._fit(value)  # type: ignore[no-any-return]
        return value

    def _put(self, key: K, value: Any) -> None:
        content = self._current.cell[self._column]
        if content is None:
            fresh = self._owner.new_map(self._column)
            fresh[key] = value
            self._current.cell[self._column] = fresh
        else:
            content[key] = value

    def put_all(self, dict_value: Mapping[K, V] | None) -> None:
        """Set the values of all these keys. None does nothing."""
        for key, value in (dict_value or {}).items():
            self.put(key, value)

    def remove(self, key: K) -> None:
        """Remove the key and its value, if the map has the key. Removing the last key clears the state."""
        content = self._current.cell[self._column]
        if content is not None and key in content:
            del content[key]
            if not content:
                self.clear()

    def contains(self, key: K) -> bool:
        """Return whether the map has the key. The value may be None."""
        content = self._current.cell[self._column]
        return content is not None and key in content

    def items(self) -> Iterable[tuple[K, V]]:
        """Return the keys with their values."""
        content = self._current.cell[self._column]
        return () if content is None else list(content.items())

    def keys(self) -> Iterable[K]:
        """Return the keys."""
        content = self._current.cell[self._column]
        return () if content is None else list(content.keys())

    def values(self) -> Iterable[V]:
        """Return the values."""
        content = self._current.cell[self._column]
        return () if content is None else list(content.values())

    def is_empty(self) -> bool:
        """Return whether the map has no keys."""
        return not self._current.cell[self._column]

    async def async_get(self, key: K) -> V | None:
        """Load the entry, if needed, and return as `get` does."""
        await self._owner.entry_loaded(self._column, key)
        return self.get(key)

    async def async_put(self, key: K, value: V) -> None:
        """Load the state of the current key, if needed, and set as `put` does."""
        await self._owner.loaded()
        self.put(key, value)

    async def async_put_all(self, dict_value: Mapping[K, V] | None) -> None:
        """Load the state of the current key, if needed, and set as `put_all` does."""
        await self._owner.loaded()
        self.put_all(dict_value)

    async def async_remove(self, key: K) -> None:
        """Load the entry, if needed, and remove as `remove` does."""
        await self._owner.entry_loaded(self._column, key)
        self.remove(key)

    async def async_contains(self, key: K) -> bool:
        """Load the entry, if needed, and return as `contains` does."""
        await self._owner.entry_loaded(self._column, key)
        return self.contains(key)

    async def async_items(self) -> Iterable[tuple[K, V]]:
        """Load the state of the current key, if needed, and return as `items` does."""
        await self._owner.loaded()
        return self.items()

    async def async_keys(self) -> Iterable[K]:
        """Load the state of the current key, if needed, and return as `keys` does."""
        await self._owner.loaded()
        return self.keys()

    async def async_values(self) -> Iterable[V]:
        """Load the state of the current key, if needed, and return as `values` does."""
        await self._owner.loaded()
        return self.values()

    async def async_is_empty(self) -> bool:
        """Load the state of the current key, if needed, and return as `is_empty` does."""
        await self._owner.loaded()
        return self.is_empty()

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


class PythonMapState(Attributes, MapState[Any, Any]):
    """The handle without a time to live."""

    __slots__ = ("_fitting_key",)

    def __init__(self, descriptor: StateDescriptor, owner: HandleOwner, column: int) -> None:
        super().__init__(descriptor, owner, column)
        self._fitting_key: type = Handle


@final
class TtlMapState(PythonMapState):
    """A map whose entries expire one by one, including entries with the value None."""

    __slots__ = ("lifetime",)

    def __init__(self, descriptor: StateDescriptor, owner: HandleOwner, column: int, lifetime: Lifetime) -> None:
        super().__init__(descriptor, owner, column)
        self.lifetime = lifetime

    def get(self, key: Any) -> Any | None:
        stamped = self._read(key)
        return None if stamped is None else stamped[1]

    def put(self, key: Any, value: Any) -> None:
        fitted = self._fit_entry(key, value)
        self._put(key, (self.lifetime.access(), fitted))

    def put_all(self, dict_value: Mapping[Any, Any] | None) -> None:
        now_ms = self.lifetime.access()
        for key, value in (dict_value or {}).items():
            self._put(key, (now_ms, self._fit_entry(key, value)))

    def remove(self, key: Any) -> None:
        self.lifetime.access()
        super().remove(key)

    def contains(self, key: Any) -> bool:
        """Return whether the map has the key. This is a read: it resets the time and removes an expired entry."""
        return self._read(key) is not None

    def items(self) -> Iterable[tuple[Any, Any]]:
        now_ms = self.lifetime.access()
        return [(key, stamped[1]) for key, stamped in self._read_all(now_ms)]

    def keys(self) -> Iterable[Any]:
        return [key for key, _ in self.items()]

    def values(self) -> Iterable[Any]:
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Return whether `items` would return nothing. This is not a read: it resets and removes nothing."""
        now_ms = self.lifetime.access()
        if self.lifetime.returns_expired:
            return super().is_empty()
        dead_ms = now_ms - self.lifetime.ttl_ms
        return all(stamped[0] <= dead_ms for stamped in super().values())

    def _read(self, key: Any) -> Stamped | None:
        now_ms = self.lifetime.access()
        stamped: Stamped | None = super().get(key)
        if stamped is None:
            return None
        if stamped[0] <= now_ms - self.lifetime.ttl_ms:
            super().remove(key)
            return stamped if self.lifetime.returns_expired else None
        if self.lifetime.refreshes:
            self._put(key, (now_ms, stamped[1]))
        return stamped

    def _read_all(self, now_ms: int) -> list[tuple[Any, Stamped]]:
        dead_ms = now_ms - self.lifetime.ttl_ms
        visible = []
        for key, stamped in super().items():
            living = stamped[0] > dead_ms
            if not living:
                super().remove(key)
            elif self.lifetime.refreshes:
                self._put(key, (now_ms, stamped[1]))
            if living or self.lifetime.returns_expired:
                visible.append((key, stamped))
        return visible


MAP: Final[StateKind[MapStateDescriptor]] = StateKind("map", forms.MAP, handle=PythonMapState, expiring=TtlMapState)


class MapStateDescriptor(StateDescriptor):
    """Describes a map for each key of the stream.

    >>> MapStateDescriptor("per page", Types.STRING(), Types.LONG())
    MapStateDescriptor('per page', MapTypeInfo<String, Long>)
    """

    kind = MAP

    def __init__(self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        super().__init__(name, Types.MAP(checked_type(name, key_type_info), checked_type(name, value_type_info)))
