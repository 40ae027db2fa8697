"""The source of consecutive integers, under PyFlink's name."""

from __future__ import annotations

from headgate.connectors.number_seq import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
