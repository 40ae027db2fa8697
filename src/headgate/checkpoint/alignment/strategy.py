"""What an alignment strategy is: its events, its effects, and what both strategies share.

The subtask performs the effects of one event in the order given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, final

from headgate.elements import Barrier
from headgate.ids import CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierAnnounced:
    """A barrier that may overtake has arrived on `channel`, behind what has not been read yet.

    It is told before the barrier is read, and only of channels whose batches may be overtaken.
    """

    channel: int
    barrier: Barrier


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierReceived:
    """A barrier was read from `channel`."""

    channel: int
    barrier: Barrier


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReceived:
    """A cancel barrier was read from `channel`: upstream gave the checkpoint up."""

    channel: int
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointGivenUp:
    """The job master has given the checkpoint up. Comes beside the channels, so perhaps before any barrier."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TimePassed:
    """It is `now_ms` on the wall clock, which the strategy asked for by `due_ms`."""

    now_ms: float


AlignmentEvent = BarrierAnnounced | BarrierReceived | CancelReceived | CheckpointGivenUp | TimePassed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChannel:
    """Read no further element from `channel`; what has been read after the barrier waits."""

    channel: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UnblockChannels:
    """Read all channels again. Perform after every effect that precedes it in the list."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TakeSnapshot:
    """Forward `barrier` on all outputs, then take the synchronous part of the snapshot, before any further record.

    `unaligned`: the barrier overtakes what has not left yet, where it may; that is in flight and part of the snapshot.
    """

    barrier: Barrier
    unaligned: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChannel:
    """Make what has come on `channel` before the barrier, and was not processed, part of the snapshot now taken.

    Batches that still come before the barrier belong to it too, until `StopRecording`.
    """

    channel: int
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StopRecording:
    """The barrier has come on `channel`: what follows is not part of the snapshot."""

    channel: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteInFlight:
    """The barrier has come on all channels: all data in flight of the unaligned snapshot is known."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AbortAlignment:
    """Forget what was measured and recorded for the checkpoint: it will not be completed here."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardCancel:
    """Send a cancel barrier on all outputs, behind all that has been sent and before any further record."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DeclineCheckpoint:
    """Tell the job master that this subtask takes no part in the checkpoint."""

    checkpoint_id: CheckpointId
    reason: str


AlignmentEffect = (
    BlockChannel
    | UnblockChannels
    | TakeSnapshot
    | RecordChannel
    | StopRecording
    | CompleteInFlight
    | AbortAlignment
    | ForwardCancel
    | DeclineCheckpoint
)


def subsumed(checkpoint_id: CheckpointId, by: CheckpointId) -> DeclineCheckpoint:
    """Return what is told of a checkpoint that a newer one has overtaken on a channel."""
    reason = f"subsumed by checkpoint {by}, whose barrier came first on a channel"
    return DeclineCheckpoint(checkpoint_id=checkpoint_id, reason=reason)


class AlignmentStrategy(Protocol):
    """Decides on the barriers of one subtask. Pure; owned by the slot's loop."""

    @property
    def due_ms(self) -> float | None:
        """The wall clock time at which it wants to be told `TimePassed`, None: at none."""
        ...

    @property
    def blocked(self) -> frozenset[int]:
        """The channels that must not be read now."""
        ...

    def handle(self, event: AlignmentEvent) -> list[AlignmentEffect]:
        """Return what to do, in this order. Raises InternalError for an event that the protocol rules out."""
        ...

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        ...


ABORTED_IDS_MAX: Final = 128
"""Ids kept of checkpoints aborted before their barrier; the oldest is forgotten first, which costs one alignment."""


@final
class AbortedAhead:
    """Such ids, all above those that a strategy has dealt with."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: set[CheckpointId] = set()

    def __contains__(self, checkpoint_id: CheckpointId) -> bool:
        return checkpoint_id in self._ids

    def add(self, checkpoint_id: CheckpointId) -> None:
        """Keep an id."""
        self._ids.add(checkpoint_id)
        if len(self._ids) > ABORTED_IDS_MAX:
            self._ids.remove(min(self._ids))

    def advance(self, checkpoint_id: CheckpointId) -> None:
        """Forget all ids up to this one, which has been dealt with."""
        self._ids = {aborted for aborted in self._ids if aborted > checkpoint_id}

    def is_above(self, checkpoint_id: CheckpointId) -> bool:
        """Return whether all ids are above this one."""
        return all(aborted > checkpoint_id for aborted in self._ids)
