"""Exactly once: after its barrier a channel waits for the barriers of all others; or barriers overtake batches.

Theory of operation
-------------------
A snapshot of a subtask must hold the effects of every record before the barrier and of none after it, on every input
channel. So when the barrier has arrived on a channel, the subtask stops reading the channel until the barrier has
arrived on all channels. Then it forwards the barrier, takes its snapshot and reads on. The channels that have delivered
their barrier are a set, never a count: a repeated or late barrier must not replace a missing one.

A snapshot need not wait for the records before the barrier if the snapshot contains them. A barrier that may overtake
is *announced* when it arrives on a channel, ahead of the batches that are queued there. At the first announcement the
subtask forwards the barrier ahead of the batches in its outputs, takes its snapshot, and continues. On each channel it
*records* the batches before the barrier: those that are queued, and those that arrive until the barrier does. When the
barrier has arrived on all channels, all data in flight is known.

Only the `overtakable` channels may be overtaken. The snapshot waits until the barriers of all other channels have been
read. So one checkpoint may be aligned in some subtasks and unaligned in others.

`Barrier.unaligned_after_ms` says when a barrier overtakes: at once (0), never (None: all savepoints), or so many
milliseconds after the trigger. Until then barriers are read in order and their channels wait. If this time comes before
the barrier was read on all channels, the barrier overtakes then. The subtask records the batches of each channel on
which the barrier was not read.

Ids only grow. `current` is the highest id that this subtask has aligned, cancelled, or is aligning now:

    state       meaning                                     legal edges
    IDLE        nothing waits; ids <= current are over      a barrier of a later id -> ALIGNING, or straight on to
                                                            the state that this barrier leads to from ALIGNING
    ALIGNING    `announced`: channels on which the barrier  further barriers of this id, TimePassed -> ALIGNING
                has arrived; `aligned`: channels on which   read on all channels: snapshot -> IDLE
                it was read, and which wait                 the barrier may overtake now, and was read on all
                                                            channels that are not overtakable:
                                                            snapshot -> RECORDING, or IDLE if no channel is late
                                                            a later id: declined, cancelled downstream, then as IDLE
                                                            cancelled or aborted -> IDLE, cancelled downstream
    RECORDING   the snapshot is taken, but the barrier has  the barrier on the last late channel -> IDLE
                not arrived on the channels `late`          a later id: declined, then as from IDLE
                                                            cancelled or aborted -> IDLE

After the subtask has forwarded a barrier, it does not cancel the checkpoint downstream: the master learns that the
checkpoint was given up, and tells all subtasks.

The subtask does not read a blocked channel, so an element from a blocked channel breaks the protocol. Channels stay
open after the end of their data and still deliver barriers: the end of data is no event here.

The master may abort a checkpoint before its barrier arrives. The aligner keeps the id, and treats the barrier as a
cancellation when it arrives. Cancelling at once would harm an earlier checkpoint whose barrier is still on its way.

A source subtask has no input; to its aligner the trigger is a barrier on a single channel of its own.
"""

from __future__ import annotations

from typing import assert_never, final

from headgate.checkpoint.alignment.strategy import (
    AbortAlignment,
    AbortedAhead,
    AlignmentEffect,
    AlignmentEvent,
    BarrierAnnounced,
    BarrierReceived,
    BlockChannel,
    CancelReceived,
    CheckpointGivenUp,
    CompleteInFlight,
    ForwardCancel,
    RecordChannel,
    StopRecording,
    TakeSnapshot,
    TimePassed,
    UnblockChannels,
    subsumed,
)
from headgate.elements import Barrier
from headgate.event_history import EventHistory
from headgate.ids import CheckpointId


@final
class BarrierAligner:
    """Decides on the barriers of one subtask, exactly once. Pure; owned by the slot's loop.

    >>> aligner = BarrierAligner(frozenset({0, 1}))
    >>> barrier = Barrier(CheckpointId(1), 0)
    >>> aligner.handle(BarrierReceived(channel=0, barrier=barrier))
    [BlockChannel(channel=0)]
    >>> [type(effect).__name__ for effect in aligner.handle(BarrierReceived(channel=1, barrier=barrier))]
    ['TakeSnapshot', 'UnblockChannels']

    >>> aligner = BarrierAligner(frozenset({0, 1}), overtakable=frozenset({0, 1}))
    >>> barrier = Barrier(CheckpointId(1), 0, unaligned_after_ms=0)
    >>> [type(effect).__name__ for effect in aligner.handle(BarrierAnnounced(channel=0, barrier=barrier))]
    ['TakeSnapshot', 'RecordChannel', 'RecordChannel']
    >>> aligner.handle(BarrierAnnounced(channel=1, barrier=barrier))
    [StopRecording(channel=1), CompleteInFlight(checkpoint_id=1)]
    """

    __slots__ = (
        "_aborted",
        "_aligned",
        "_announced",
        "_barrier",
        "_channels",
        "_current",
        "_history",
        "_late",
        "_overtakable",
        "_overtakes",
        "_recorded",
    )

    def __init__(self, channels: frozenset[int], *, overtakable: frozenset[int] = frozenset()) -> None:
        if not channels:
            raise ValueError("a subtask aligns at least one channel (a source: the one of its triggers)")
        self._channels = channels
        self._overtakable = overtakable
        self._current = CheckpointId(0)
        self._barrier: Barrier | None = None
        self._overtakes = False
        self._announced: set[int] = set()
        self._aligned: set[int] = set()
        self._recorded: CheckpointId | None = None
        self._late: set[int] = set()
        self._aborted = AbortedAhead()
        self._history = EventHistory("barrier aligner")

    @property
    def pending(self) -> CheckpointId | None:
        """The checkpoint whose snapshot waits for barriers, None for none."""
        return None if self._barrier is None else self._barrier.checkpoint_id

    @property
    def recorded(self) -> CheckpointId | None:
        """The checkpoint whose data in flight is being recorded, None for none."""
        return self._recorded

    @property
    def due_ms(self) -> float | None:
        """The wall clock time at which the pending barrier begins to overtake; None: it does already, or never will."""
        barrier = self._barrier
        if barrier is None or barrier.unaligned_after_ms is None or self._overtakes:
            return None
        return barrier.trigger_ms + barrier.unaligned_after_ms

    @property
    def blocked(self) -> frozenset[int]:
        """The channels that the subtask must not read now."""
        return frozenset(self._aligned)

    def handle(self, event: AlignmentEvent) -> list[AlignmentEffect]:
        """Return the effects of the event, in the order to perform them.

        Raises InternalError for an event that the protocol rules out.
        """
        self._history.add(event)
        match event:
            case BarrierAnnounced(channel=channel, barrier=barrier):
                if channel not in self._overtakable:
                    raise self._history.broken(f"a barrier is announced on channel {channel}, which is read in order")
                # When the barrier of an aborted checkpoint is read, it counts as a cancellation.
                return [] if barrier.checkpoint_id in self._aborted else self._on_announced(channel, barrier)
            case BarrierReceived(channel=channel, barrier=barrier):
                self._check_readable(channel)
                if barrier.checkpoint_id in self._aborted:
                    return self._on_cancel(barrier.checkpoint_id)
                return self._on_read(channel, barrier)
            case CancelReceived(channel=channel, checkpoint_id=checkpoint_id):
                self._check_readable(channel)
                return self._on_cancel(checkpoint_id)
            case CheckpointGivenUp(checkpoint_id=checkpoint_id):
                return self._on_abort(checkpoint_id)
            case TimePassed(now_ms=now_ms):
                return self._on_time(now_ms)
            case _:
                assert_never(event)

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        if not (self._aligned <= self._channels and self._announced | self._late <= self._overtakable):
            raise self._history.broken(f"{self._aligned}, {self._announced}, {self._late} are no such channels")
        if self._aligned == self._channels:
            raise self._history.broken("all channels are blocked")
        if (self._barrier is None) is bool(self._aligned or self._announced):
            raise self._history.broken(f"{self._barrier} is pending, with {self._aligned} and {self._announced}")
        if (self._recorded is None) is bool(self._late) or (self._recorded and self._barrier):
            raise self._history.broken(f"{self._recorded} is recorded, with {self._late} late, {self._barrier} pending")
        if not self._aborted.is_above(self._current):
            raise self._history.broken(f"an id at or below {self._current} is kept as aborted ahead of its barrier")

    # --- barriers

    def _on_announced(self, channel: int, barrier: Barrier) -> list[AlignmentEffect]:
        effects = self._begin(barrier)
        if barrier.checkpoint_id == self._recorded:
            return self._arrived_late(channel)
        if barrier.checkpoint_id != self.pending:
            return effects
        self._announced.add(channel)
        return effects + self._conclude(frozenset(self._aligned))

    def _on_read(self, channel: int, barrier: Barrier) -> list[AlignmentEffect]:
        effects = self._begin(barrier)
        if barrier.checkpoint_id == self._recorded:
            return self._arrived_late(channel)
        if barrier.checkpoint_id != self.pending:
            return effects
        waiting = frozenset(self._aligned)
        self._aligned.add(channel)
        concluded = self._conclude(waiting)
        return [*effects, *(concluded or [BlockChannel(channel=channel)])]

    def _begin(self, barrier: Barrier) -> list[AlignmentEffect]:
        """Begin the alignment if the checkpoint is later than all earlier checkpoints; otherwise do nothing."""
        if barrier.checkpoint_id <= self._current:
            return []
        effects = self._subsume(barrier.checkpoint_id)
        self._advance(barrier.checkpoint_id)
        self._barrier = barrier
        self._overtakes = barrier.unaligned_after_ms == 0
        return effects

    def _conclude(self, waiting: frozenset[int]) -> list[AlignmentEffect]:
        """Take the snapshot if no more barriers are awaited. `waiting` are the channels that were blocked."""
        barrier = self._barrier
        assert barrier is not None
        overtaken = self._channels - self._aligned
        if overtaken and not (self._overtakes and overtaken <= self._overtakable):
            return []
        late = overtaken - self._announced
        checkpoint_id = barrier.checkpoint_id
        effects: list[AlignmentEffect] = [TakeSnapshot(barrier=barrier, unaligned=self._overtakes)]
        effects += [RecordChannel(channel=channel, checkpoint_id=checkpoint_id) for channel in sorted(overtaken)]
        if waiting:
            effects.append(UnblockChannels())
        if self._overtakes and not late:
            effects.append(CompleteInFlight(checkpoint_id=checkpoint_id))
        self._forget()
        if late:
            self._recorded, self._late = checkpoint_id, set(late)
        return effects

    def _arrived_late(self, channel: int) -> list[AlignmentEffect]:
        checkpoint_id = self._recorded
        if channel not in self._late or checkpoint_id is None:
            return []
        self._late.remove(channel)
        if self._late:
            return [StopRecording(channel=channel)]
        self._recorded = None
        return [StopRecording(channel=channel), CompleteInFlight(checkpoint_id=checkpoint_id)]

    def _on_time(self, now_ms: float) -> list[AlignmentEffect]:
        due_ms = self.due_ms
        if due_ms is None or now_ms < due_ms:
            return []
        self._overtakes = True
        return self._conclude(frozenset(self._aligned))

    # --- the end of a checkpoint

    def _on_cancel(self, checkpoint_id: CheckpointId) -> list[AlignmentEffect]:
        if checkpoint_id in (self.pending, self._recorded):
            return self._give_up(checkpoint_id)
        if checkpoint_id <= self._current:
            return []
        effects = self._subsume(checkpoint_id)
        self._advance(checkpoint_id)
        return [*effects, ForwardCancel(checkpoint_id=checkpoint_id)]

    def _on_abort(self, checkpoint_id: CheckpointId) -> list[AlignmentEffect]:
        if checkpoint_id in (self.pending, self._recorded):
            return self._give_up(checkpoint_id)
        if checkpoint_id > self._current:
            self._aborted.add(checkpoint_id)
        return []

    def _subsume(self, by: CheckpointId) -> list[AlignmentEffect]:
        ended = self._recorded or self.pending
        return [] if ended is None else [*self._give_up(ended), subsumed(ended, by)]

    def _give_up(self, checkpoint_id: CheckpointId) -> list[AlignmentEffect]:
        effects: list[AlignmentEffect] = [AbortAlignment(checkpoint_id=checkpoint_id)]
        if checkpoint_id == self.pending:
            effects += [ForwardCancel(checkpoint_id=checkpoint_id), UnblockChannels()]
        self._forget()
        return effects

    def _forget(self) -> None:
        """Return to IDLE."""
        self._barrier = self._recorded = None
        self._overtakes = False
        self._aligned.clear()
        self._announced.clear()
        self._late.clear()

    def _advance(self, checkpoint_id: CheckpointId) -> None:
        self._current = checkpoint_id
        self._aborted.advance(checkpoint_id)

    def _check_readable(self, channel: int) -> None:
        if channel not in self._channels:
            raise self._history.broken(f"channel {channel} is no input of this subtask")
        if channel in self._aligned:
            raise self._history.broken(f"channel {channel} was read although it is blocked")
