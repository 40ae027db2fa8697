"""Map, flat map, filter and process on a keyed stream, where the functions may use state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.operators.calls import FILTER, FLAT_MAP, MAP, PROCESS
from headgate.operators.keyed import KeyedOperator
from headgate.operators.user_function import FunctionFactory


@final
@dataclass(frozen=True, slots=True)
class KeyedMapFactory(FunctionFactory):
    """Makes a keyed operator of a `MapFunction` or a callable."""

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, MAP.call, self.errors)


@final
@dataclass(frozen=True, slots=True)
class KeyedFlatMapFactory(FunctionFactory):
    """Makes a keyed operator of a `FlatMapFunction` or a callable."""

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, FLAT_MAP.call, self.errors)


@final
@dataclass(frozen=True, slots=True)
class KeyedFilterFactory(FunctionFactory):
    """Makes a keyed operator of a `FilterFunction` or a callable."""

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, FILTER.call, self.errors)


@final
@dataclass(frozen=True, slots=True)
class KeyedProcessFactory(FunctionFactory):
    """Makes a keyed operator of a `KeyedProcessFunction`."""

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, PROCESS.call, self.errors)
