"""A source that reads several sources one after the other, under PyFlink's names."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.hybrid import HybridSource, HybridSourceBuilder
from headgate.datastream.connectors.base import Source

__all__ = ["HybridSource", "HybridSourceBuilder", "Source"]


unsupported.guard(__name__, globals())
