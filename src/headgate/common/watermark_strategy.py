"""Watermark strategies: how a source tells the progress of event time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate import unsupported

__all__ = ["WatermarkStrategy"]


@final
@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """How a source makes watermarks. So far there is the strategy that makes none."""

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Make no watermarks: for programs that do not work by event time."""
        return WatermarkStrategy()


unsupported.guard(__name__, globals())
