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
    """A barrier that may overtake has arrived on `channel`, behind elements that have not been read.

    The event comes before the barrier is read, and only for channels whose batches may be overtaken.
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
    """A cancel barrier was read from `channel`: an upstream subtask has given the checkpoint up."""

    channel: int
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointGivenUp:
    """The job master has given the checkpoint up. The message may overtake all barriers."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TimePassed:
    """The wall clock has reached `due_ms` of the strategy: it is `now_ms`."""

    now_ms: float


AlignmentEvent = BarrierAnnounced | BarrierReceived | CancelReceived | CheckpointGivenUp | TimePassed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChannel:
    """Read no further element from `channel`; elements after the barrier wait."""

    channel: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UnblockChannels:
    """Read all channels again, after all effects before this one are performed."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TakeSnapshot:
    """Forward `barrier` on all outputs, then take the synchronous part of the snapshot, before any further record.

    `unaligned`: the barrier overtakes batches in the outputs that permit it. These batches are part of the snapshot.
    """

    barrier: Barrier
    unaligned: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChannel:
    """Add the unprocessed batches before the barrier on `channel` to the snapshot that was just taken.

    Also add batches that arrive before the barrier, until `StopRecording`.
    """

    channel: int
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StopRecording:
    """End the recording of `channel`: its barrier has arrived."""

    channel: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteInFlight:
    """Complete the unaligned snapshot: barriers have arrived on all channels, so all its data in flight is known."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AbortAlignment:
    """Drop the measurements and recorded batches of the checkpoint: this subtask does not complete it."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardCancel:
    """Send a cancel barrier on all outputs, before any further record."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DeclineCheckpoint:
    """Tell the job master that this subtask declines the checkpoint."""

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
    """Return the decline of a checkpoint after the barrier of the newer checkpoint `by` came first on a channel."""
    reason = f"subsumed by checkpoint {by}, whose barrier came first on a channel"
    return DeclineCheckpoint(checkpoint_id=checkpoint_id, reason=reason)


class AlignmentStrategy(Protocol):
    """Handles the barriers of one subtask. Pure; owned by the slot's loop."""

    @property
    def due_ms(self) -> float | None:
        """The wall clock time at which the strategy expects `TimePassed`, None for none."""
        ...

    @property
    def blocked(self) -> frozenset[int]:
        """The channels that the subtask must not read now."""
        ...

    def handle(self, event: AlignmentEvent) -> list[AlignmentEffect]:
        """Return the effects of the event, in the order to perform them.

        Raises InternalError for an event that the protocol rules out.
        """
        ...

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        ...


ABORTED_IDS_MAX: Final = 128
"""The greatest number of aborted ids that are kept. The oldest is dropped first, which costs one useless alignment."""


@final
class AbortedAhead:
    """The ids of checkpoints that the job master gave up before their barriers arrived.

    All are above the ids that the strategy has handled.
    """

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: set[CheckpointId] = set()

    def __contains__(self, checkpoint_id: CheckpointId) -> bool:
        return checkpoint_id in self._ids

    def add(self, checkpoint_id: CheckpointId) -> None:
        """Keep the id of an aborted checkpoint."""
        self._ids.add(checkpoint_id)
        if len(self._ids) > ABORTED_IDS_MAX:
            self._ids.remove(min(self._ids))

    def advance(self, checkpoint_id: CheckpointId) -> None:
        """Drop all ids up to this one, which the strategy has handled."""
        self._ids = {aborted for aborted in self._ids if aborted > checkpoint_id}

    def is_above(self, checkpoint_id: CheckpointId) -> bool:
        """Return whether all kept ids are above this one."""
        return all(aborted > checkpoint_id for aborted in self._ids)
