"""Keyed process: a `KeyedProcessFunction`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.operators.calls import PROCESS
from headgate.operators.keyed import KeyedOperator
from headgate.operators.user_function import FunctionFactory


@final
@dataclass(frozen=True, slots=True)
class KeyedProcessFactory(FunctionFactory):
    """Makes a keyed operator of a `KeyedProcessFunction`."""

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, PROCESS.call, self.errors)
