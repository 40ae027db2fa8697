"""Aligned, exactly once: a channel waits, from its barrier on, until the barrier has come on all channels.

Theory of operation
-------------------
A snapshot of a subtask must hold the effects of every record before the barrier and of none after it, on every input
channel. The subtask therefore stops reading a channel on which the barrier has arrived until it has arrived on all of
them: then it forwards the barrier, takes its snapshot and reads on. *Which* channels have delivered is a set, never a
count: a repeated or late barrier must not stand in for a missing one.

Ids only grow. `current` is the highest id that this subtask has dealt with (aligned, cancelled, or is aligning now):

    state      meaning                                    legal edges
    IDLE       nothing waits; ids <= current are over     BarrierReceived(id > current) -> ALIGNING, or, with a single
                                                          channel, snapshot at once -> IDLE
    ALIGNING   the channels in `aligned` are blocked      BarrierReceived(current, other channel) -> ALIGNING; the last
                                                          -> snapshot -> IDLE
                                                          BarrierReceived(id > current): current is subsumed: declined,
                                                          cancelled downstream; then as from IDLE
                                                          CancelReceived(current or later) -> IDLE
                                                          CheckpointAborted(current) -> IDLE
    both       a barrier or cancel that is over           ignored: a checkpoint that has ended stays ended

A blocked channel is not read, so an element from a blocked channel is a broken rule. Channels stay open after end of
data and still deliver barriers: the end of data is no event here.

The master may abort a checkpoint whose barrier has not come yet. Its id is kept, and its barrier, when it comes, is
taken for a cancel. Acting at once instead would harm an earlier checkpoint whose barrier is still on its way.

A source subtask has no input; to its aligner the trigger is a barrier on a single channel of its own.

Nothing overtakes here: what is announced is not listened to, and no time matters.
"""

from __future__ import annotations

from typing import assert_never, final

from headgate.checkpoint.alignment.aborted import AbortedAhead
from headgate.checkpoint.alignment.events import (
    AbortAlignment,
    AlignmentEffect,
    AlignmentEvent,
    BarrierAnnounced,
    BarrierReceived,
    BlockChannel,
    CancelReceived,
    CheckpointAborted,
    ForwardCancel,
    TakeSnapshot,
    TimePassed,
    UnblockChannels,
    subsumed,
)
from headgate.elements import Barrier
from headgate.ids import CheckpointId
from headgate.story import Story


@final
class BarrierAligner:
    """Aligns the barriers of all input channels of one subtask, exactly once. Pure; owned by the slot's loop.

    >>> aligner = BarrierAligner(frozenset({0, 1}))
    >>> barrier = Barrier(CheckpointId(1), 0)
    >>> aligner.handle(BarrierReceived(channel=0, barrier=barrier))
    [BlockChannel(channel=0)]
    >>> [type(effect).__name__ for effect in aligner.handle(BarrierReceived(channel=1, barrier=barrier))]
    ['TakeSnapshot', 'UnblockChannels']
    """

    __slots__ = ("_aborted", "_aligned", "_channels", "_current", "_story")

    def __init__(self, channels: frozenset[int]) -> None:
        if not channels:
            raise ValueError("a subtask aligns at least one channel (a source: the one of its triggers)")
        self._channels = channels
        self._current = CheckpointId(0)
        self._aligned: set[int] = set()
        self._aborted = AbortedAhead()
        self._story = Story("barrier aligner")

    @property
    def pending(self) -> CheckpointId | None:
        """The checkpoint being aligned, if there is one."""
        return self._current if self._aligned else None

    @property
    def due_ms(self) -> None:
        """None: it waits for no time."""
        return

    @property
    def blocked(self) -> frozenset[int]:
        """The channels that must not be read now."""
        return frozenset(self._aligned)

    def handle(self, event: AlignmentEvent) -> list[AlignmentEffect]:
        """Return what to do, in this order. Raises InternalError for an event that the protocol rules out."""
        self._story.add(event)
        match event:
            case BarrierReceived(channel=channel, barrier=barrier):
                self._check_readable(channel)
                if barrier.checkpoint_id in self._aborted:
                    return self._on_cancel(barrier.checkpoint_id)
                return self._on_barrier(channel, barrier)
            case CancelReceived(channel=channel, checkpoint_id=checkpoint_id):
                self._check_readable(channel)
                return self._on_cancel(checkpoint_id)
            case CheckpointAborted(checkpoint_id=checkpoint_id):
                return self._on_abort(checkpoint_id)
            case BarrierAnnounced() | TimePassed():
                return []
            case _:
                assert_never(event)

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        if not self._aligned <= self._channels:
            raise self._story.broken(f"aligned channels {self._aligned} are not all channels of this subtask")
        if self._aligned == self._channels:
            raise self._story.broken("all channels are blocked")
        if not self._aborted.is_above(self._current):
            raise self._story.broken(f"an id at or below {self._current} is kept as aborted ahead of its barrier")

    def _on_barrier(self, channel: int, barrier: Barrier) -> list[AlignmentEffect]:
        effects: list[AlignmentEffect] = []
        if barrier.checkpoint_id > self._current:
            effects += self._subsume(barrier.checkpoint_id)
            self._advance(barrier.checkpoint_id)
        elif barrier.checkpoint_id != self.pending:
            return []
        self._aligned.add(channel)
        if self._aligned != self._channels:
            return [*effects, BlockChannel(channel=channel)]
        waited = len(self._aligned) > 1
        self._aligned.clear()
        effects.append(TakeSnapshot(barrier=barrier))
        return [*effects, UnblockChannels()] if waited else effects

    def _on_cancel(self, checkpoint_id: CheckpointId) -> list[AlignmentEffect]:
        if checkpoint_id == self.pending:
            return self._give_up(checkpoint_id)
        if checkpoint_id <= self._current:
            return []
        effects = self._subsume(checkpoint_id)
        self._advance(checkpoint_id)
        return [*effects, ForwardCancel(checkpoint_id=checkpoint_id)]

    def _on_abort(self, checkpoint_id: CheckpointId) -> list[AlignmentEffect]:
        if checkpoint_id == self.pending:
            return self._give_up(checkpoint_id)
        if checkpoint_id > self._current:
            self._aborted.add(checkpoint_id)
        return []

    def _subsume(self, by: CheckpointId) -> list[AlignmentEffect]:
        pending = self.pending
        if pending is None:
            return []
        return [*self._give_up(pending), subsumed(pending, by)]

    def _give_up(self, checkpoint_id: CheckpointId) -> list[AlignmentEffect]:
        self._aligned.clear()
        return [
            AbortAlignment(checkpoint_id=checkpoint_id),
            ForwardCancel(checkpoint_id=checkpoint_id),
            UnblockChannels(),
        ]

    def _advance(self, checkpoint_id: CheckpointId) -> None:
        self._current = checkpoint_id
        self._aborted.advance(checkpoint_id)

    def _check_readable(self, channel: int) -> None:
        if channel not in self._channels:
            raise self._story.broken(f"channel {channel} is no input of this subtask")
        if channel in self._aligned:
            raise self._story.broken(f"channel {channel} was read although it is blocked")
