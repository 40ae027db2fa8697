"""The source and sink protocols, under PyFlink's names. Unlike in PyFlink, programs may implement them in Python."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.guarantee import DeliveryGuarantee
from headgate.functions.sink import Sink
from headgate.functions.source import Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]

unsupported.guard(__name__, globals())
