"""Upload: the asynchronous part of a snapshot, from the walk over keyed state to the acknowledgement.

The walk is done by the loop in pieces of about a thousand keys, between batches: pickling holds the interpreter's lock
wherever it runs, so a thread would stop the loop for longer. Writing is done beside the loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol, final

from headgate.checkpoint import paths
from headgate.checkpoint.handles import ListState, OperatorState, SubtaskState
from headgate.clock import Clock
from headgate.errors import HeadgateError
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.base import Operator, OperatorSnapshot
from headgate.runtime.io import Io
from headgate.runtime.slot.state_writers import StateWriters
from headgate.runtime.slot.subtask import TakenSnapshot
from headgate.state.backend import StateWriter
from headgate.state.keyed.pace import rest_ms


class UploadHost(Io, Protocol):
    """Does the writing beside the loop, for as long as the attempt lasts, and takes the outcome."""

    clock: Clock

    def acked(self, subtask: SubtaskId, checkpoint_id: CheckpointId, state: SubtaskState) -> None:
        """All state of the subtask is in storage."""
        ...

    def declined(self, subtask: SubtaskId, checkpoint_id: CheckpointId, reason: str) -> None:
        """The state could not be pickled or stored."""
        ...


@final
class Uploads:
    """The snapshots of one slot that are under way, oldest first. Owned by the slot's loop."""

    def __init__(self, writers: StateWriters, host: UploadHost, attempt: Attempt) -> None:
        self._writers = writers
        self._host = host
        self._attempt = attempt
        self._walking: deque[TakenSnapshot] = deque()
        self._due_ms = 0.0

    @property
    def pending(self) -> bool:
        """Whether a walk is under way."""
        return bool(self._walking)

    @property
    def due(self) -> bool:
        """Whether it is a walk's turn, even if there is other work to do."""
        return bool(self._walking) and self._host.clock.monotonic_ms() >= self._due_ms

    def add(self, snapshot: TakenSnapshot) -> None:
        """Begin to upload a snapshot."""
        self._walking.append(snapshot)

    def advance(self) -> bool:
        """Do one piece of the oldest snapshot's walk; return whether there was one to do."""
        if not self._walking:
            return False
        began_ms = self._host.clock.monotonic_ms()
        self._walk(self._walking[0])
        ended_ms = self._host.clock.monotonic_ms()
        self._due_ms = ended_ms + rest_ms(ended_ms - began_ms)
        return True

    def _walk(self, snapshot: TakenSnapshot) -> None:
        for operator, part in snapshot.parts:
            try:
                if part.keyed is not None and not part.keyed.advance():
                    return
            except HeadgateError as error:
                self._end(snapshot)
                self._host.declined(snapshot.subtask, snapshot.barrier.checkpoint_id, _named(operator, error))
                return
        self._end(snapshot)
        self._host.submit(lambda: self._write(snapshot), self._written(snapshot))

    def abandon(self, checkpoint_id: CheckpointId) -> None:
        """Walk no further for a checkpoint that was given up."""
        for snapshot in [each for each in self._walking if each.barrier.checkpoint_id == checkpoint_id]:
            self._end(snapshot)

    def _end(self, snapshot: TakenSnapshot) -> None:
        """Let the operators go on without the snapshot, which nothing changes any more."""
        self._walking.remove(snapshot)
        for operator, part in snapshot.parts:
            operator.forget(part)

    def ahead(self, uid: str, subtask: int) -> StateWriter:
        """Return a writer for files of keyed state that belong to no checkpoint yet. May be called beside the loop."""
        return self._writers.ahead(paths.Writer(self._attempt, uid, subtask))

    # --- beside the loop

    def _write(self, snapshot: TakenSnapshot) -> tuple[OperatorState, ...]:
        return tuple(self._store(snapshot, operator, part) for operator, part in snapshot.parts)

    def _store(self, snapshot: TakenSnapshot, operator: Operator, part: OperatorSnapshot) -> OperatorState:
        try:
            return self._store_part(snapshot, part)
        except HeadgateError as error:
            raise HeadgateError(_named(operator, error)) from error

    def _store_part(self, snapshot: TakenSnapshot, part: OperatorSnapshot) -> OperatorState:
        own = paths.Writer(self._attempt, part.uid, snapshot.subtask.index)
        writer = self._writers.of_checkpoint(own, snapshot.barrier.checkpoint_id)
        return OperatorState(
            uid=part.uid,
            keyed=None if part.keyed is None else part.keyed.store(writer),
            lists={
                name: ListState(state.mode, writer.write_list(name, state.elements), state.type)
                for name, state in part.lists.items()
            },
        )

    def _written(self, snapshot: TakenSnapshot) -> Callable[[tuple[OperatorState, ...] | BaseException], None]:
        def done(result: tuple[OperatorState, ...] | BaseException) -> None:
            if isinstance(result, BaseException):
                self._host.declined(snapshot.subtask, snapshot.barrier.checkpoint_id, str(result))
                return
            state = SubtaskState(
                operators=result,
                sync_ms=snapshot.sync_ms,
                async_ms=self._host.clock.monotonic_ms() - snapshot.async_since_ms,
                alignment_ms=snapshot.alignment_ms,
            )
            self._host.acked(snapshot.subtask, snapshot.barrier.checkpoint_id, state)

        return done


def _named(operator: Operator, error: HeadgateError) -> str:
    """What is wrong, and with whose state: a chain has several operators."""
    return f"operator {operator.context.name!r}: {error}"
