"""What keyed state must do, written down as plainly as possible: the model that backends are compared with.

A model has the methods of a handle and keeps its content in one dict. Every single thing in it has the time of its last
access; without a time to live it never matters.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

from headgate.clock import Clock
from headgate.state.descriptors import AggregatingStateDescriptor, ReducingStateDescriptor, StateDescriptor
from headgate.state.ttl import StateTtlConfig

Place = tuple[Any, Any]
"""Key and namespace."""


class Model:
    """The content of one state, by key and namespace."""

    def __init__(self, descriptor: StateDescriptor, clock: Clock) -> None:
        self.rows: dict[Place, Any] = {}
        self.place: Place = (None, None)
        self.name = descriptor.name
        self._descriptor = descriptor
        self._clock = clock
        ttl = descriptor.ttl
        self._ttl_ms = float("inf") if ttl is None else ttl.get_ttl().to_milliseconds()
        self._refreshes = ttl is not None and ttl.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        visibility = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        self._shows_expired = ttl is not None and ttl.get_state_visibility() is visibility

    def clear(self) -> None:
        self.rows.pop(self.place, None)

    def living_keys(self) -> set[Any]:
        """Return the keys that have something here which has not expired, in no namespace."""
        return {key for (key, namespace), row in self.rows.items() if namespace is None and self._lives(row)}

    def _lives(self, row: Any) -> bool:
        return any(not self._expired(stamped) for stamped in self._stamped(row))

    def _stamped(self, row: Any) -> list[Any]:
        return [row]

    def _expired(self, stamped: Any) -> bool:
        return bool(stamped[0] + self._ttl_ms <= self._clock.wall_ms())

    def _stamp(self, value: Any) -> tuple[int, Any]:
        return (self._clock.wall_ms(), copy.deepcopy(value))

    def _read_one(self) -> Any:
        stamped = self.rows.get(self.place)
        if stamped is None:
            return None
        if self._expired(stamped):
            del self.rows[self.place]
            return stamped[1] if self._shows_expired else None
        if self._refreshes:
            self.rows[self.place] = self._stamp(stamped[1])
        return stamped[1]

    def _usable(self) -> Any:
        stamped = self.rows.get(self.place)
        return None if stamped is None or (self._expired(stamped) and not self._shows_expired) else stamped[1]

    def merge(self, key: Any, target: Any, sources: Iterable[Any]) -> None:
        """Merge namespaces of a key."""
        rows = [self.rows.pop((key, source)) for source in sources if (key, source) in self.rows]
        if rows:
            merged = self._merged(self.rows.pop((key, target), None), rows)
            if merged is not None:
                self.rows[key, target] = merged

    def _merged(self, target: Any, rows: list[Any]) -> Any:
        raise NotImplementedError

    def _folded(self, target: Any, rows: list[Any], combine: Callable[[Any, Any], Any]) -> Any:
        def both(one: Any, other: Any) -> Any:
            seen = [each[1] for each in (one, other) if each and (self._shows_expired or not self._expired(each))]
            return None if not seen else self._stamp(combine(*seen) if len(seen) == 2 else seen[0])

        fold = rows[0]
        for row in rows[1:]:
            fold = both(fold, row)
        if target is None or fold is None:
            return fold if target is None else target
        return both(target, fold)


@final
class ValueModel(Model):
    """A value."""

    def value(self) -> Any:
        return self._read_one()

    def update(self, value: Any) -> None:
        self.clear()
        if value is not None:
            self.rows[self.place] = self._stamp(value)


@final
class ReducingModel(Model):
    """A running combination."""

    def get(self) -> Any:
        return self._read_one()

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        so_far = self._usable()
        self.rows[self.place] = self._stamp(value if so_far is None else self._combine(so_far, value))

    def _combine(self, one: Any, other: Any) -> Any:
        assert isinstance(self._descriptor, ReducingStateDescriptor)
        return self._descriptor.combine(copy.deepcopy(one), copy.deepcopy(other))

    def _merged(self, target: Any, rows: list[Any]) -> Any:
        return self._folded(target, rows, self._combine)


@final
class AggregatingModel(Model):
    """An accumulator."""

    def get(self) -> Any:
        accumulator = self._read_one()
        return None if accumulator is None else self._function.get_result(accumulator)

    @property
    def _function(self) -> Any:
        assert isinstance(self._descriptor, AggregatingStateDescriptor)
        return self._descriptor.get_agg_function()

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        so_far = self._usable()
        start = self._function.create_accumulator() if so_far is None else copy.deepcopy(so_far)
        self.rows[self.place] = self._stamp(self._function.add(copy.deepcopy(value), start))

    def _merged(self, target: Any, rows: list[Any]) -> Any:
        return self._folded(
            target, rows, lambda one, other: self._function.merge(copy.deepcopy(one), copy.deepcopy(other))
        )


@final
class ListModel(Model):
    """A list."""

    def _stamped(self, row: Any) -> list[Any]:
        return list(row)

    def get(self) -> list[Any]:
        row = self.rows.get(self.place, [])
        living = [stamped for stamped in row if not self._expired(stamped)]
        if not living:
            self.clear()
        elif self._refreshes:
            self.rows[self.place] = [self._stamp(value) for _, value in living]
        return [value for _, value in (row if self._shows_expired else living)]

    def add(self, value: Any) -> None:
        self.add_all([value])

    def add_all(self, values: list[Any]) -> None:
        if values:
            self.rows.setdefault(self.place, []).extend(map(self._stamp, values))

    def update(self, values: list[Any]) -> None:
        self.clear()
        self.add_all(values)

    def _merged(self, target: Any, rows: list[Any]) -> Any:
        return [stamped for row in [target or [], *rows] for stamped in row]


class MapModel(Model):
    """A map. What it returns of several entries is sorted, for their order is not promised."""

    def _stamped(self, row: Any) -> list[Any]:
        return list(row.values())

    @property
    def _row(self) -> dict[Any, Any]:
        row: dict[Any, Any] = self.rows.get(self.place, {})
        return row

    def get(self, key: Any) -> Any:
        stamped = self._read(key)
        return None if stamped is None else stamped[1]

    def contains(self, key: Any) -> bool:
        return self._read(key) is not None

    def _read(self, key: Any) -> Any:
        stamped = self._row.get(key)
        if stamped is not None and self._expired(stamped):
            self.remove(key)
            return stamped if self._shows_expired else None
        if stamped is not None and self._refreshes:
            self.put(key, stamped[1])
        return stamped

    def put(self, key: Any, value: Any) -> None:
        self.rows.setdefault(self.place, {})[key] = self._stamp(value)

    def put_all(self, dict_value: Mapping[Any, Any] | None) -> None:
        for key, value in (dict_value or {}).items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._row.pop(key, None)
        if not self._row:
            self.clear()

    def items(self) -> list[Any]:
        found = [(key, self._read(key)) for key in sorted(self._row)]
        return [(key, stamped[1]) for key, stamped in found if stamped is not None]

    def keys(self) -> list[Any]:
        return [key for key, _ in self.items()]

    def is_empty(self) -> bool:
        return not any(self._shows_expired or not self._expired(stamped) for stamped in self._row.values())
