"""Which input channels of a subtask wait for barriers, and when its snapshot is taken: one strategy for each mode.

    aligner     exactly once: a channel waits, from its barrier on, for the barriers of all others; or barriers overtake
                batches, which become part of the checkpoint, at once or after a time
    tracker     at least once: no channel waits

Both take the same events and give the same effects.
"""

from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.checkpoint.alignment.strategy import (
    ABORTED_IDS_MAX,
    AbortAlignment,
    AbortedAhead,
    AlignmentEffect,
    AlignmentEvent,
    AlignmentStrategy,
    BarrierAnnounced,
    BarrierReceived,
    BlockChannel,
    CancelReceived,
    CheckpointGivenUp,
    CompleteInFlight,
    DeclineCheckpoint,
    ForwardCancel,
    RecordChannel,
    StopRecording,
    TakeSnapshot,
    TimePassed,
    UnblockChannels,
)
from headgate.checkpoint.alignment.tracker import BarrierTracker

__all__ = [
    "ABORTED_IDS_MAX",
    "AbortAlignment",
    "AbortedAhead",
    "AlignmentEffect",
    "AlignmentEvent",
    "AlignmentStrategy",
    "BarrierAligner",
    "BarrierAnnounced",
    "BarrierReceived",
    "BarrierTracker",
    "BlockChannel",
    "CancelReceived",
    "CheckpointGivenUp",
    "CompleteInFlight",
    "DeclineCheckpoint",
    "ForwardCancel",
    "RecordChannel",
    "StopRecording",
    "TakeSnapshot",
    "TimePassed",
    "UnblockChannels",
]
