"""A DataFrame as the input of a stage, in place of a source: Spark reads it directly, without a copy before the job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.elements import Batch
from headgate.operators.base import Operator


@final
class FrameHead(Operator):
    """Replaces the source operator, and emits the rows unchanged."""

    def process(self, batch: Batch) -> Batch:
        return batch


@final
@dataclass(frozen=True, slots=True)
class FrameHeadFactory:
    """Makes a `FrameHead`."""

    def create(self) -> FrameHead:
        return FrameHead()
