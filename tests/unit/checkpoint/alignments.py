"""Events of alignment strategies in few words, for the tests."""

from __future__ import annotations

from headgate.checkpoint.alignment.strategy import (
    AbortAlignment,
    AlignmentEffect,
    AlignmentStrategy,
    BarrierAnnounced,
    BarrierReceived,
    CancelReceived,
    CheckpointGivenUp,
    DeclineCheckpoint,
    ForwardCancel,
    TimePassed,
)
from headgate.elements import Barrier
from headgate.ids import CheckpointId

TRIGGER_MS = 1000


def of(checkpoint_id: int, after_ms: int | None = None) -> Barrier:
    return Barrier(CheckpointId(checkpoint_id), TRIGGER_MS, unaligned_after_ms=after_ms)


class Events:
    """Feeds a strategy; `after_ms` is when its barriers overtake."""

    def __init__(self, strategy: AlignmentStrategy, after_ms: int | None = None) -> None:
        self.strategy = strategy
        self.after_ms = after_ms

    def barrier(self, channel: int, checkpoint_id: int) -> list[AlignmentEffect]:
        return self.strategy.handle(BarrierReceived(channel=channel, barrier=of(checkpoint_id, self.after_ms)))

    def announce(self, channel: int, checkpoint_id: int) -> list[AlignmentEffect]:
        return self.strategy.handle(BarrierAnnounced(channel=channel, barrier=of(checkpoint_id, self.after_ms)))

    def savepoint(self, channel: int, checkpoint_id: int) -> list[AlignmentEffect]:
        return self.strategy.handle(BarrierReceived(channel=channel, barrier=of(checkpoint_id)))

    def cancel(self, channel: int, checkpoint_id: int) -> list[AlignmentEffect]:
        return self.strategy.handle(CancelReceived(channel=channel, checkpoint_id=CheckpointId(checkpoint_id)))

    def abort(self, checkpoint_id: int) -> list[AlignmentEffect]:
        return self.strategy.handle(CheckpointGivenUp(checkpoint_id=CheckpointId(checkpoint_id)))

    def time(self, now_ms: float) -> list[AlignmentEffect]:
        return self.strategy.handle(TimePassed(now_ms=now_ms))


def forgotten(checkpoint_id: int) -> AbortAlignment:
    return AbortAlignment(checkpoint_id=CheckpointId(checkpoint_id))


def cancelled(checkpoint_id: int) -> ForwardCancel:
    return ForwardCancel(checkpoint_id=CheckpointId(checkpoint_id))


def subsumed(checkpoint_id: int, by: int) -> DeclineCheckpoint:
    reason = f"subsumed by checkpoint {by}, whose barrier came first on a channel"
    return DeclineCheckpoint(checkpoint_id=CheckpointId(checkpoint_id), reason=reason)
