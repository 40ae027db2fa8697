"""Map, flat map and filter on a keyed stream, where the functions may use state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.operators.base import Runtime, method_of
from headgate.operators.keyed import KeyedCall, KeyedOperator


def _bind_map(function: Any, runtime: Runtime) -> KeyedCall:
    call = method_of(function, "map")
    return lambda value, context: (call(value),)


def _bind_flat_map(function: Any, runtime: Runtime) -> KeyedCall:
    call = method_of(function, "flat_map")
    return lambda value, context: call(value)


def _bind_filter(function: Any, runtime: Runtime) -> KeyedCall:
    call = method_of(function, "filter")
    return lambda value, context: (value,) if call(value) else None


@final
@dataclass(frozen=True, slots=True)
class KeyedMapFactory:
    """Makes a keyed operator of a `MapFunction` or a callable."""

    function: Any

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, _bind_map)


@final
@dataclass(frozen=True, slots=True)
class KeyedFlatMapFactory:
    """Makes a keyed operator of a `FlatMapFunction` or a callable."""

    function: Any

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, _bind_flat_map)


@final
@dataclass(frozen=True, slots=True)
class KeyedFilterFactory:
    """Makes a keyed operator of a `FilterFunction` or a callable."""

    function: Any

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, _bind_filter)
