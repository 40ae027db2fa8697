"""What makes window operators in the slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.functions.windows.assigner import MergingWindowAssigner
from headgate.operators.windows.contents import Contents
from headgate.operators.windows.evaluation import AnyWindowFunction
from headgate.operators.windows.merging_operator import MergingWindowOperator
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
        merges = isinstance(self.windowing.assigner, MergingWindowAssigner)
        operator = MergingWindowOperator if merges else WindowOperator
        return operator(self.windowing, self.contents, self.function)
