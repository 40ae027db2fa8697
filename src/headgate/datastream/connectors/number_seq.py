"""The source of consecutive integers, under PyFlink's name."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.number_seq import NumberSequenceSource

__all__ = ["NumberSequenceSource"]


unsupported.guard(__name__, globals())
