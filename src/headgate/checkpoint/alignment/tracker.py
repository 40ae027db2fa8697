"""At least once: no channel waits, and the subtask takes its snapshot when the barrier has arrived on all channels.

Theory of operation
-------------------
The subtask processes records after a barrier while it awaits the barrier on other channels. The snapshot contains the
effects of these records, and they come again after a restore. With a single channel there are no such records, so the
guarantee is exactly once.

Several checkpoints may be pending. The tracker keeps for each the set of channels that have delivered their barrier:

    BarrierReceived    adds the channel. After the last channel the snapshot is taken, and all older pending checkpoints
                       are subsumed: the newer barrier has passed on each channel, so no older barrier will arrive
    CancelReceived     the checkpoint is given up, and cancelled downstream. Its channels are still counted, so that it
                       can be removed. Older checkpoints are subsumed: downstream would ignore their later barriers
    CheckpointGivenUp  the checkpoint is given up. The master also tells the downstream subtasks, so nothing is sent,
                       and older checkpoints continue. If no barrier has arrived yet, the tracker keeps the id: the
                       first barrier then begins a checkpoint that is already given up

At most `PENDING_MAX` checkpoints are kept; a further one replaces the oldest. An id that is neither pending nor above
all ids seen is over, and is ignored. Barriers and cancel barriers go downstream in the order of ids, each once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, assert_never, final

from headgate.checkpoint.alignment.strategy import (
    AbortAlignment,
    AbortedAhead,
    AlignmentEffect,
    AlignmentEvent,
    BarrierAnnounced,
    BarrierReceived,
    CancelReceived,
    CheckpointGivenUp,
    DeclineCheckpoint,
    ForwardCancel,
    TakeSnapshot,
    TimePassed,
    subsumed,
)
from headgate.elements import Barrier
from headgate.event_history import EventHistory
from headgate.ids import CheckpointId

PENDING_MAX: Final = 50
"""The greatest number of checkpoints whose barriers are counted at a time."""


@final
@dataclass(slots=True)
class _Pending:
    given_up: bool
    delivered: set[int] = field(default_factory=set)


@final
class BarrierTracker:
    """Counts the barriers of all input channels of one subtask, at least once. Pure; owned by the slot's loop.

    >>> tracker = BarrierTracker(frozenset({0, 1}))
    >>> barrier = Barrier(CheckpointId(1), 0)
    >>> tracker.handle(BarrierReceived(channel=0, barrier=barrier))
    []
    >>> [type(effect).__name__ for effect in tracker.handle(BarrierReceived(channel=1, barrier=barrier))]
    ['TakeSnapshot']
    """

    __slots__ = ("_aborted", "_channels", "_history", "_latest", "_pending")

    def __init__(self, channels: frozenset[int]) -> None:
        if not channels:
            raise ValueError("a subtask counts at least one channel (a source: the one of its triggers)")
        self._channels = channels
        self._latest = CheckpointId(0)
        self._pending: dict[CheckpointId, _Pending] = {}
        self._aborted = AbortedAhead()
        self._history = EventHistory("barrier tracker")

    @property
    def pending(self) -> tuple[CheckpointId, ...]:
        """The checkpoints whose barriers are counted, including those that were given up; oldest first."""
        return tuple(self._pending)

    @property
    def due_ms(self) -> None:
        """None: the tracker waits for no time."""
        return

    @property
    def blocked(self) -> frozenset[int]:
        """The empty set: no channel ever waits."""
        return frozenset()

    def handle(self, event: AlignmentEvent) -> list[AlignmentEffect]:
        """Return the effects of the event, in the order to perform them.

        Raises InternalError for an event that the protocol rules out.
        """
        self._history.add(event)
        match event:
            case BarrierReceived(channel=channel, barrier=barrier):
                self._check(channel)
                return self._on_barrier(channel, barrier)
            case CancelReceived(channel=channel, checkpoint_id=checkpoint_id):
                self._check(channel)
                return self._on_cancel(channel, checkpoint_id)
            case CheckpointGivenUp(checkpoint_id=checkpoint_id):
                return self._on_abort(checkpoint_id)
            case BarrierAnnounced() | TimePassed():
                return []
            case _:
                assert_never(event)

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        if len(self._pending) > PENDING_MAX:
            raise self._history.broken(f"{len(self._pending)} checkpoints are pending")
        if sorted(self._pending) != list(self._pending) or max(self._pending, default=0) > self._latest:
            raise self._history.broken(f"the pending ids {list(self._pending)} are not in order, up to {self._latest}")
        if any(not each.delivered < self._channels for each in self._pending.values()):
            raise self._history.broken("a checkpoint is pending although all channels have delivered")
        if not self._aborted.is_above(self._latest):
            raise self._history.broken(f"an id at or below {self._latest} is kept as aborted ahead of its barrier")

    def _on_barrier(self, channel: int, barrier: Barrier) -> list[AlignmentEffect]:
        checkpoint_id = barrier.checkpoint_id
        effects: list[AlignmentEffect] = []
        if checkpoint_id > self._latest:
            effects += self._begin(checkpoint_id, given_up=checkpoint_id in self._aborted)
        pending = self._pending.get(checkpoint_id)
        if pending is None:
            return effects
        pending.delivered.add(channel)
        if pending.delivered != self._channels:
            return effects
        effects += self._subsume(checkpoint_id)
        del self._pending[checkpoint_id]
        return effects if pending.given_up else [*effects, TakeSnapshot(barrier=barrier)]

    def _on_cancel(self, channel: int, checkpoint_id: CheckpointId) -> list[AlignmentEffect]:
        pending = self._pending.get(checkpoint_id)
        if pending is None and checkpoint_id <= self._latest:
            return []
        effects = self._subsume(checkpoint_id)
        if pending is None:
            effects.append(ForwardCancel(checkpoint_id=checkpoint_id))
            self._begin(checkpoint_id, given_up=True)
        elif not pending.given_up:
            effects += _give_up(checkpoint_id)
        kept = self._pending[checkpoint_id]
        kept.given_up = True
        kept.delivered.add(channel)
        if kept.delivered == self._channels:
            del self._pending[checkpoint_id]
        return effects

    def _on_abort(self, checkpoint_id: CheckpointId) -> list[AlignmentEffect]:
        if checkpoint_id > self._latest:
            self._aborted.add(checkpoint_id)
            return []
        pending = self._pending.get(checkpoint_id)
        if pending is None or pending.given_up:
            return []
        pending.given_up = True
        return [AbortAlignment(checkpoint_id=checkpoint_id)]

    def _begin(self, checkpoint_id: CheckpointId, *, given_up: bool) -> list[AlignmentEffect]:
        self._latest = checkpoint_id
        self._aborted.advance(checkpoint_id)
        self._pending[checkpoint_id] = _Pending(given_up)
        return self._drop_oldest() if len(self._pending) > PENDING_MAX else []

    def _drop_oldest(self) -> list[AlignmentEffect]:
        oldest = next(iter(self._pending))
        if self._pending.pop(oldest).given_up:
            return []
        reason = f"more than {PENDING_MAX} checkpoints wait for barriers, and this is the oldest"
        return [*_give_up(oldest), DeclineCheckpoint(checkpoint_id=oldest, reason=reason)]

    def _subsume(self, by: CheckpointId) -> list[AlignmentEffect]:
        """Give up all pending checkpoints that are older than `by`."""
        effects: list[AlignmentEffect] = []
        for older in [pending for pending in self._pending if pending < by]:
            if not self._pending.pop(older).given_up:
                effects += [*_give_up(older), subsumed(older, by)]
        return effects

    def _check(self, channel: int) -> None:
        if channel not in self._channels:
            raise self._history.broken(f"channel {channel} is no input of this subtask")


def _give_up(checkpoint_id: CheckpointId) -> list[AlignmentEffect]:
    return [AbortAlignment(checkpoint_id=checkpoint_id), ForwardCancel(checkpoint_id=checkpoint_id)]
