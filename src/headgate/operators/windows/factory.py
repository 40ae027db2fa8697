"""What makes window operators in the slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.operators.windows.contents import Contents
from headgate.operators.windows.evaluation import AnyWindowFunction
from headgate.operators.windows.operator import WindowOperator
from headgate.operators.windows.windowing import Windowing


@final
@dataclass(frozen=True, slots=True)
class WindowFactory:
    """Makes a window operator."""

    windowing: Windowing
    contents: Contents
    function: AnyWindowFunction

    def create(self) -> WindowOperator:
        """Return a new operator, not yet opened."""
        return WindowOperator(self.windowing, self.contents, self.function)
