"""Upload: the asynchronous part of a snapshot, from the walk over keyed state to the acknowledgement.

Output that sinks have prepared is made durable first, then state is written.

The loop walks the keyed state in pieces of about a thousand keys, between batches: pickling holds the interpreter's
lock wherever it runs, so a thread would stop the loop for longer. An I/O thread writes.

The data in flight of an unaligned snapshot is written when all of it is gathered, before or after the state. The
acknowledgement waits for both.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Protocol, final

from headgate.checkpoint import paths
from headgate.checkpoint.handles import InFlightState, ListStateHandle, OperatorState, SubtaskState
from headgate.clock import Clock
from headgate.elements import Barrier, Payload, is_arrow
from headgate.errors import HeadgateError
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.base import USER_ERRORS, Operator, OperatorSnapshot
from headgate.operators.failure import UserFailure, failure_of
from headgate.runtime.io import Io
from headgate.runtime.slot_storage.in_flight import Gathering, Side
from headgate.runtime.slot_storage.state_writers import StateWriters
from headgate.state.backend import StateWriter
from headgate.state.keyed.changelog import rest_ms
from headgate.types.typed_batches import is_typed


@final
@dataclass(slots=True, kw_only=True)
class TakenSnapshot:
    """A subtask's snapshot after its synchronous part: keyed state has to be walked, and all state written.

    An unaligned snapshot has `in_flight`; its `alignment_ms` and `processed_bytes` are known when the gathering has
    ended. `pending` is as in `SubtaskState`.
    """

    subtask: SubtaskId
    barrier: Barrier
    parts: list[tuple[Operator, OperatorSnapshot]]
    sync_ms: float
    alignment_ms: float
    start_delay_ms: float = 0.0
    processed_bytes: int = 0
    pending: int = 0
    in_flight: Gathering | None = None
    async_since_ms: float = 0.0

    @property
    def head_uid(self) -> str:
        """The uid of the first operator. `parts` are in the reverse order of the chain."""
        return self.parts[-1][1].uid


class UploadHost(Io, Protocol):
    """Runs the writes on an I/O thread while the attempt lasts, and takes the outcome."""

    clock: Clock

    def acked(self, subtask: SubtaskId, barrier: Barrier, state: SubtaskState) -> None:
        """Acknowledge the checkpoint: all state of the subtask is in storage."""
        ...

    def declined(self, subtask: SubtaskId, checkpoint_id: CheckpointId, reason: str) -> None:
        """Decline the checkpoint: the state could not be pickled or stored."""
        ...

    def failed(self, subtask: SubtaskId, failure: UserFailure | str, error: BaseException) -> None:
        """Fail the subtask: a sink could not make its prepared output durable."""
        ...


@final
class _NotSecuredError(Exception):
    """Output of an operator that a checkpoint names may be lost: it could not be made durable, see `__cause__`."""

    def __init__(self, operator: str) -> None:
        super().__init__(operator)
        self.operator = operator


@final
@dataclass(slots=True, eq=False)
class _Upload:
    """A snapshot under way. `operators` and `in_flight` are None until they are written.

    `handed_ms` is the monotonic time at which the write of the last part began.
    """

    snapshot: TakenSnapshot
    operators: tuple[OperatorState, ...] | None = None
    in_flight: tuple[InFlightState, ...] | None = None
    handed_ms: float = 0.0


@final
class Uploads:
    """Uploads the snapshots of one slot, oldest first. Owned by the slot's loop."""

    def __init__(self, writers: StateWriters, host: UploadHost, attempt: Attempt) -> None:
        self._writers = writers
        self._host = host
        self._attempt = attempt
        self._walking: deque[_Upload] = deque()
        self._under_way: set[_Upload] = set()
        self._due_ms = 0.0

    @property
    def pending(self) -> bool:
        """Whether a walk is under way."""
        return bool(self._walking)

    @property
    def due(self) -> bool:
        """Whether to continue a walk now, even if there is other work."""
        return bool(self._walking) and self._host.clock.monotonic_ms() >= self._due_ms

    def add(self, snapshot: TakenSnapshot) -> None:
        """Begin the upload of a snapshot."""
        upload = _Upload(snapshot)
        self._walking.append(upload)
        self._under_way.add(upload)
        if snapshot.in_flight is None:
            upload.in_flight = ()
        else:
            snapshot.in_flight.when_ended(partial(self._gathered, upload))

    def advance(self) -> bool:
        """Do one piece of the oldest snapshot's walk; return whether there was a walk."""
        if not self._walking:
            return False
        began_ms = self._host.clock.monotonic_ms()
        self._walk(self._walking[0])
        ended_ms = self._host.clock.monotonic_ms()
        self._due_ms = ended_ms + rest_ms(ended_ms - began_ms)
        return True

    def _walk(self, upload: _Upload) -> None:
        for operator, part in upload.snapshot.parts:
            try:
                if part.keyed is not None and not part.keyed.advance():
                    return
            except HeadgateError as error:
                self._decline(upload, _named(operator, error))
                return
        self._end_walk(upload)
        upload.handed_ms = self._host.clock.monotonic_ms()
        self._host.submit(partial(self._write, upload.snapshot), partial(self._written, upload))

    def _gathered(self, upload: _Upload) -> None:
        """Write the data in flight, whose gathering has ended, or give the upload up."""
        in_flight = upload.snapshot.in_flight
        if in_flight is None or upload not in self._under_way:
            return
        if in_flight.dropped:
            self._end(upload)
        elif in_flight.failure is not None:
            self._decline(upload, in_flight.failure)
        else:
            work = partial(self._write_in_flight, upload.snapshot, dict(in_flight.parts))
            upload.handed_ms = self._host.clock.monotonic_ms()
            self._host.submit(work, partial(self._in_flight_written, upload))

    def abandon(self, checkpoint_id: CheckpointId) -> None:
        """End the uploads for a checkpoint that was given up."""
        for upload in [each for each in self._under_way if each.snapshot.barrier.checkpoint_id == checkpoint_id]:
            self._end(upload)

    def _decline(self, upload: _Upload, reason: str) -> None:
        if upload in self._under_way:
            self._end(upload)
            self._host.declined(upload.snapshot.subtask, upload.snapshot.barrier.checkpoint_id, reason)

    def _end(self, upload: _Upload) -> None:
        """End the upload and release what it holds. Its outcome is not reported any more."""
        self._under_way.discard(upload)
        if upload in self._walking:
            self._end_walk(upload)
        if upload.snapshot.in_flight is not None:
            upload.snapshot.in_flight.drop()

    def _end_walk(self, upload: _Upload) -> None:
        """End the walk: the operators need not protect the snapshot from changes any more."""
        self._walking.remove(upload)
        for operator, part in upload.snapshot.parts:
            operator.forget(part)

    def ahead(self, uid: str, subtask: int) -> StateWriter:
        """Return a writer for files of keyed state that belong to no checkpoint yet. May be called on an I/O thread."""
        return self._writers.ahead(paths.Writer(self._attempt, uid, subtask))

    # --- on an I/O thread

    def _write(self, snapshot: TakenSnapshot) -> tuple[OperatorState, ...]:
        for operator, part in snapshot.parts:
            try:
                part.secure()
            except USER_ERRORS as error:
                raise _NotSecuredError(operator.context.name) from error
        return tuple(self._store(snapshot, operator, part) for operator, part in snapshot.parts)

    def _store(self, snapshot: TakenSnapshot, operator: Operator, part: OperatorSnapshot) -> OperatorState:
        try:
            return self._store_part(snapshot, part)
        except HeadgateError as error:
            raise HeadgateError(_named(operator, error)) from error

    def _store_part(self, snapshot: TakenSnapshot, part: OperatorSnapshot) -> OperatorState:
        own = paths.Writer(self._attempt, part.uid, snapshot.subtask.index)
        writer = self._writers.of(own, snapshot.barrier)
        return OperatorState(
            uid=part.uid,
            keyed=None if part.keyed is None else writer.write_keyed(part.keyed),
            lists={
                name: ListStateHandle(state.mode, writer.write_list(name, state.elements), state.type)
                for name, state in part.lists.items()
            },
        )

    def _write_in_flight(self, snapshot: TakenSnapshot, parts: dict[Side, list[Payload]]) -> tuple[InFlightState, ...]:
        own = paths.Writer(self._attempt, snapshot.head_uid, snapshot.subtask.index)
        checkpoint_id = snapshot.barrier.checkpoint_id
        return tuple(
            InFlightState(
                uid=side.address.uid,
                input_index=side.address.input_index,
                source_uid=side.address.source_uid,
                source=side.address.source,
                target=side.address.target,
                sequence=side.sequence,
                handle=self._writers.write_in_flight(own, checkpoint_id, side.name, list(map(bytes, payloads))),
                keyed=side.address.keyed,
                arrow=any(map(is_arrow, payloads)),
                typed=any(map(is_typed, payloads)),
            )
            for side, payloads in parts.items()
        )

    # --- the outcome

    def _written(self, upload: _Upload, result: tuple[OperatorState, ...] | BaseException) -> None:
        if isinstance(result, _NotSecuredError):
            self._fail(upload, result)
        elif isinstance(result, BaseException):
            self._decline(upload, str(result))
        else:
            upload.operators = result
            self._acknowledge(upload)

    def _fail(self, upload: _Upload, unsecured: _NotSecuredError) -> None:
        """Fail the subtask, also if the checkpoint was given up: the next checkpoint would name the lost output."""
        if upload in self._under_way:
            self._end(upload)
        subtask, error = upload.snapshot.subtask, unsecured.__cause__
        assert error is not None
        self._host.failed(subtask, failure_of(error, unsecured.operator, subtask.index), error)

    def _in_flight_written(self, upload: _Upload, result: tuple[InFlightState, ...] | BaseException) -> None:
        if isinstance(result, BaseException):
            self._decline(upload, f"data in flight could not be stored: {result}")
        else:
            upload.in_flight = result
            self._acknowledge(upload)

    def _acknowledge(self, upload: _Upload) -> None:
        if upload.operators is None or upload.in_flight is None or upload not in self._under_way:
            return
        self._under_way.discard(upload)
        snapshot, now_ms = upload.snapshot, self._host.clock.monotonic_ms()
        state = SubtaskState(
            operators=upload.operators,
            in_flight=upload.in_flight,
            sync_ms=snapshot.sync_ms,
            async_ms=now_ms - snapshot.async_since_ms,
            upload_ms=now_ms - upload.handed_ms,
            alignment_ms=snapshot.alignment_ms,
            start_delay_ms=snapshot.start_delay_ms,
            processed_bytes=snapshot.processed_bytes,
            persisted_bytes=0 if snapshot.in_flight is None else snapshot.in_flight.size_bytes,
            unaligned=snapshot.in_flight is not None,
            pending=snapshot.pending,
        )
        self._host.acked(snapshot.subtask, snapshot.barrier, state)


def _named(operator: Operator, error: HeadgateError) -> str:
    """Return the text of the error with the operator's name: a chain has several operators."""
    return f"operator {operator.context.name!r}: {error}"
