"""Keyed process: a `KeyedProcessFunction`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from headgate.operators.base import Runtime, method_of
from headgate.operators.keyed import KeyedCall, KeyedOperator


def _bind(function: Any, runtime: Runtime) -> KeyedCall:
    return method_of(function, "process_element")


@final
@dataclass(frozen=True, slots=True)
class KeyedProcessFactory:
    """Makes a keyed operator of a `KeyedProcessFunction`."""

    function: Any

    def create(self) -> KeyedOperator:
        return KeyedOperator(self.function, _bind)
