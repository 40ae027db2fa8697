"""A DataFrame as the input of a stage, in place of a source: Spark reads it itself, and nothing is copied before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.elements import Batch
from headgate.operators.base import Operator


@final
class FrameHead(Operator):
    """Stands where the source stood, and passes the rows on."""

    def process(self, batch: Batch) -> Batch:
        return batch


@final
@dataclass(frozen=True, slots=True)
class FrameHeadFactory:
    """Makes a `FrameHead`."""

    def create(self) -> FrameHead:
        return FrameHead()
