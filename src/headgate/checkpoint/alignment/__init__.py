"""Which input channels of a subtask wait for barriers, and when it takes its snapshot: one strategy for each mode.

    aligner     exactly once: after its barrier a channel waits for the barriers of all other channels; or barriers
                overtake batches, at once or after a time, and these batches become part of the checkpoint
    tracker     at least once: no channel waits

Both take the same events and return the same kinds of effects.
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
