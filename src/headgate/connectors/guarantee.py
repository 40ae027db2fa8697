"""What sinks promise."""

from __future__ import annotations

from enum import Enum


class DeliveryGuarantee(Enum):
    """What a sink promises when jobs fail and restart."""

    EXACTLY_ONCE = "exactly-once"
    """Consumers that read committed records see each once, after the checkpoint that it belongs to."""
    AT_LEAST_ONCE = "at-least-once"
    """All records arrive at once; those since the last checkpoint arrive again after a restart."""
    NONE = "none"
    """The sink does not wait for the brokers: records may be lost, and arrive again."""
