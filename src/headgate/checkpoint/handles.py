"""The state of subtasks and their operators in a checkpoint, as handles on stored bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from headgate.state.files import KeyedState, StateHandle
from headgate.state.operator.list_elements import ListMode


@final
@dataclass(frozen=True, slots=True)
class ListStateHandle:
    """An operator list state. `handle` leads to its pickled elements (a list of bytes), `type` describes their type."""

    mode: ListMode
    handle: StateHandle
    type: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """The state of one operator of one subtask in a checkpoint. `lists` are its operator list states by name."""

    uid: str
    keyed: KeyedState | None = None
    lists: dict[str, ListStateHandle] = field(default_factory=dict)

    def handles(self) -> list[StateHandle]:
        """Return the handles of all the operator's state."""
        keyed = [] if self.keyed is None else self.keyed.handles()
        return [*keyed, *(state.handle for state in self.lists.values())]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightState:
    """Batches that an unaligned barrier has overtaken on one channel, in their order.

    They were on their way to input `input_index` of the operator `uid`, from subtask `source` of the operator
    `source_uid` to subtask `target`. `sequence` orders the parts of one channel: the receiver's part has a lower number
    than the sender's. `handle` leads to the pickled list of payloads, each an encoded batch. `keyed`: the channel
    partitions by key group. `arrow`: some batches are encoded as Arrow streams. `typed`: some have the typed form.
    """

    uid: str
    input_index: int
    source_uid: str
    source: int
    target: int
    sequence: int
    handle: StateHandle
    keyed: bool = False
    arrow: bool = False
    typed: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskState:
    """The state of one subtask in a checkpoint, and the cost of the snapshot.

    `start_delay_ms` is the time from the trigger to the first barrier at the subtask, `alignment_ms` the time from the
    first barrier to the last. `async_ms` has two parts: first the state is walked between batches, then, in
    `upload_ms`, the last part is written to storage. `processed_bytes` counts data that arrived during the alignment
    and was processed, `persisted_bytes` data in flight that became part of the checkpoint. `pending` is the number of
    inputs whose asynchronous calls had not ended.
    """

    operators: tuple[OperatorState, ...]
    in_flight: tuple[InFlightState, ...] = ()
    sync_ms: float = 0.0
    async_ms: float = 0.0
    upload_ms: float = 0.0
    alignment_ms: float = 0.0
    start_delay_ms: float = 0.0
    processed_bytes: int = 0
    persisted_bytes: int = 0
    unaligned: bool = False
    pending: int = 0

    @property
    def size_bytes(self) -> int:
        """The bytes of state, including inline state and data in flight."""
        handles = [handle for operator in self.operators for handle in operator.handles()]
        return sum(handle.size_bytes for handle in [*handles, *(each.handle for each in self.in_flight)])
