"""Map state: a map, of keys of its own, for each key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar, final

from headgate.state.kinds import forms
from headgate.state.kinds.forms import Stamped
from headgate.state.kinds.handle import ContainerHandle, Handle
from headgate.state.kinds.kind import StateDescriptor, StateKind, checked_type
from headgate.state.kinds.lifetime import Lifetime
from headgate.state.kinds.owner import HandleOwner
from headgate.types.typeinfo import TypeInformation, Types

K = TypeVar("K")
V = TypeVar("V")


class MapState(ContainerHandle, Generic[K, V]):
    """A map, of keys of its own, for each key of the stream. Its values may be None.

    What `items`, `keys` and `values` return is the map as it is when they are called: changing it while going through
    them is allowed, and not seen by them. Values are the live objects: after changing one in place, call `put`.
    """

    __slots__ = ("_fitting_key",)

    def __init__(self, descriptor: StateDescriptor, owner: HandleOwner, column: int) -> None:
        super().__init__(descriptor, owner, column)
        self._fitting_key: type = Handle

    def get(self, key: K) -> V | None:
        """Return the value of the key, None when there is none."""
        content = self._owner.cell[self._column]
        return None if content is None else content.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of the key. Raises `StateAccessError` when either is of another type."""
        self._put(key, self._fit_entry(key, value))

    def _fit_entry(self, key: K, value: V) -> V:
        """Return the value as one of the declared type. Raises `StateAccessError` if it, or the key, is none."""
        if type(key) is not self._fitting_key and key is not None:
            self._type_check.map_key(key)
            self._fitting_key = type(key)
        if type(value) is not self._fitting and value is not None:
            return self._fit(value)  # type: ignore[no-any-return]
        return value

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

    async def async_get(self, key: K) -> V | None:
        """Do as `get` does, once the entry is in memory."""
        await self._owner.entry_loaded(self._column, key)
        return self.get(key)

    async def async_put(self, key: K, value: V) -> None:
        """Do as `put` does, once the state of the key is in memory."""
        await self._owner.loaded()
        self.put(key, value)

    async def async_put_all(self, dict_value: Mapping[K, V] | None) -> None:
        """Do as `put_all` does, once the state of the key is in memory."""
        await self._owner.loaded()
        self.put_all(dict_value)

    async def async_remove(self, key: K) -> None:
        """Do as `remove` does, once the entry is in memory."""
        await self._owner.entry_loaded(self._column, key)
        self.remove(key)

    async def async_contains(self, key: K) -> bool:
        """Do as `contains` does, once the entry is in memory."""
        await self._owner.entry_loaded(self._column, key)
        return self.contains(key)

    async def async_items(self) -> Iterable[tuple[K, V]]:
        """Do as `items` does, once the state of the key is in memory."""
        await self._owner.loaded()
        return self.items()

    async def async_keys(self) -> Iterable[K]:
        """Do as `keys` does, once the state of the key is in memory."""
        await self._owner.loaded()
        return self.keys()

    async def async_values(self) -> Iterable[V]:
        """Do as `values` does, once the state of the key is in memory."""
        await self._owner.loaded()
        return self.values()

    async def async_is_empty(self) -> bool:
        """Do as `is_empty` does, once the state of the key is in memory."""
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


@final
class TtlMapState(MapState[Any, Any]):
    """A map whose entries expire one by one. One whose value is None expires like all others."""

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
        """Return whether the key is there. It is a read: it refreshes, and it removes what has expired."""
        return self._read(key) is not None

    def items(self) -> Iterable[tuple[Any, Any]]:
        now_ms = self.lifetime.access()
        return [(key, stamped[1]) for key, stamped in self._read_all(now_ms)]

    def keys(self) -> Iterable[Any]:
        return [key for key, _ in self.items()]

    def values(self) -> Iterable[Any]:
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Return whether `items` would return nothing. Refreshes and removes nothing."""
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


MAP: Final[StateKind[MapStateDescriptor]] = StateKind("map", forms.MAP, handle=MapState, expiring=TtlMapState)


class MapStateDescriptor(StateDescriptor):
    """Describes a map, of keys of its own, for each key of the stream.

    >>> MapStateDescriptor("per page", Types.STRING(), Types.LONG())
    MapStateDescriptor('per page', MapTypeInfo<String, Long>)
    """

    kind = MAP

    def __init__(self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        super().__init__(name, Types.MAP(checked_type(name, key_type_info), checked_type(name, value_type_info)))
