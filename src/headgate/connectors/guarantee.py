"""The delivery guarantees of sinks."""

from __future__ import annotations

from enum import Enum


class DeliveryGuarantee(Enum):
    """The guarantee of a sink when a job fails and restarts."""

    EXACTLY_ONCE = "exactly-once"
    """Consumers of committed records see each record once, after the checkpoint of the record."""
    AT_LEAST_ONCE = "at-least-once"
    """Records arrive immediately. Records since the last checkpoint arrive again after a restart."""
    NONE = "none"
    """The sink does not wait for the brokers. Records may be lost, and may arrive again."""
