"""Handles of state with a time to live. What they store is told in `expiry`; the rules are in docs/state.md.

Reading removes what has expired. It is returned all the same, this once, where the configuration says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

from headgate.clock import Clock
from headgate.state.descriptors import AggregatingStateDescriptor, ReducingStateDescriptor, StateDescriptor
from headgate.state.handles.owner import Owner
from headgate.state.handles.plain import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    SingleHandle,
    ValueState,
)
from headgate.state.keyed.cleanup import IncrementalCleanup
from headgate.state.keyed.expiry import Stamped
from headgate.state.ttl import StateTtlConfig


@final
class Lifetime:
    """The rules of one state's time to live, with the clock that counts."""

    __slots__ = ("_clock", "cleanup", "refreshes", "returns_expired", "ttl_ms")

    def __init__(self, config: StateTtlConfig, clock: Clock, cleanup: IncrementalCleanup | None) -> None:
        self._clock = clock
        self.cleanup = cleanup
        self.ttl_ms = config.get_ttl().to_milliseconds()
        self.refreshes = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        """Whether reading counts as an access."""
        self.returns_expired = (
            config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        )

    def access(self) -> int:
        """Return the time of an access that begins now, after cleaning up a little elsewhere."""
        now_ms = self._clock.wall_ms()
        if self.cleanup is not None:
            self.cleanup.advance(now_ms)
        return now_ms

    def usable(self, stored: Stamped | None, now_ms: int) -> Any | None:
        """Return the value, None when there is none or it is not to be seen any more."""
        if stored is None or (stored[0] <= now_ms - self.ttl_ms and not self.returns_expired):
            return None
        return stored[1]

    def read(self, handle: SingleHandle) -> Any | None:
        """Return the value that the column of a handle holds for the current key, or remove it."""
        now_ms = self.access()
        stored = handle.stored()
        if stored is None:
            return None
        if stored[0] <= now_ms - self.ttl_ms:
            handle.clear()
            return stored[1] if self.returns_expired else None
        if self.refreshes:
            handle.store((now_ms, stored[1]))
        return stored[1]


@final
class TtlValueState(ValueState[Any]):
    """A value that expires."""

    __slots__ = ("lifetime",)

    def __init__(self, descriptor: StateDescriptor, owner: Owner, column: int, lifetime: Lifetime) -> None:
        super().__init__(descriptor, owner, column)
        self.lifetime = lifetime

    def value(self) -> Any | None:
        return self.lifetime.read(self)

    def update(self, value: Any | None) -> None:
        if type(value) is not self._fitting and value is not None:
            self._fit(value)
        self.store(None if value is None else (self.lifetime.access(), value))


@final
class TtlReducingState(ReducingState[Any]):
    """A combination that expires as a whole. What is added after that begins a new one."""

    __slots__ = ("lifetime",)

    def __init__(self, descriptor: ReducingStateDescriptor, owner: Owner, column: int, lifetime: Lifetime) -> None:
        super().__init__(descriptor, owner, column)
        self.lifetime = lifetime

    def get(self) -> Any | None:
        return self.lifetime.read(self)

    def add(self, value: Any | None) -> None:
        now_ms = self.lifetime.access()
        if value is not None:
            value = self._combined(self.lifetime.usable(self.stored(), now_ms), value)
        self.store(None if value is None else (now_ms, value))


@final
class TtlAggregatingState(AggregatingState[Any, Any]):
    """An accumulator that expires as a whole. What is added after that begins a new one."""

    __slots__ = ("lifetime",)

    def __init__(self, descriptor: AggregatingStateDescriptor, owner: Owner, column: int, lifetime: Lifetime) -> None:
        super().__init__(descriptor, owner, column)
        self.lifetime = lifetime

    def get(self) -> Any | None:
        accumulator = self.lifetime.read(self)
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any | None) -> None:
        now_ms = self.lifetime.access()
        if value is None:
            self.clear()
        else:
            self.store((now_ms, self._accumulated(value, self.lifetime.usable(self.stored(), now_ms))))


@final
class TtlListState(ListState[Any]):
    """A list whose elements expire one by one. Expired ones are hidden, and removed once none lives."""

    __slots__ = ("lifetime",)

    def __init__(self, descriptor: StateDescriptor, owner: Owner, column: int, lifetime: Lifetime) -> None:
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
            self._fit_element("add()", value)
        self._extend([(self.lifetime.access(), value)])

    def add_all(self, values: Iterable[Any]) -> None:
        self._extend(self._stamped("add_all()", values))

    def update(self, values: Iterable[Any]) -> None:
        self._replace(self._stamped("update()", values))

    def _stamped(self, method: str, values: Iterable[Any]) -> list[Stamped]:
        now_ms = self.lifetime.access()
        return [(now_ms, value) for value in self._checked(method, values)]


@final
class TtlMapState(MapState[Any, Any]):
    """A map whose entries expire one by one. One whose value is None expires like all others."""

    __slots__ = ("lifetime",)

    def __init__(self, descriptor: StateDescriptor, owner: Owner, column: int, lifetime: Lifetime) -> None:
        super().__init__(descriptor, owner, column)
        self.lifetime = lifetime

    def get(self, key: Any) -> Any | None:
        stamped = self._read(key)
        return None if stamped is None else stamped[1]

    def put(self, key: Any, value: Any) -> None:
        self._fit_entry(key, value)
        self._put(key, (self.lifetime.access(), value))

    def put_all(self, dict_value: Mapping[Any, Any] | None) -> None:
        now_ms = self.lifetime.access()
        for key, value in (dict_value or {}).items():
            self._fit_entry(key, value)
            self._put(key, (now_ms, value))

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
