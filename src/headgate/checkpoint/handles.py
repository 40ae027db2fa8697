"""What subtasks and their operators have in a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from headgate.state.files import KeyedState, StateHandle
from headgate.state.operator.list_elements import ListMode


@final
@dataclass(frozen=True, slots=True)
class ListStateHandle:
    """An operator list state: `handle` is on its pickled elements (a list of bytes), `type` describes their type."""

    mode: ListMode
    handle: StateHandle
    type: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """What one operator of one subtask has in a checkpoint; `lists` are its operator list states by name."""

    uid: str
    keyed: KeyedState | None = None
    lists: dict[str, ListStateHandle] = field(default_factory=dict)

    def handles(self) -> list[StateHandle]:
        """Return the handles on all of its state."""
        keyed = [] if self.keyed is None else self.keyed.handles()
        return [*keyed, *(state.handle for state in self.lists.values())]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightState:
    """Batches that an unaligned barrier has overtaken on one channel, in their order.

    They were on their way to input `input_index` of the operator `uid`: from subtask `source` of the operator
    `source_uid` to subtask `target`. `sequence` orders the parts of one channel: what lay nearer to its end is lower.
    `handle` is on the pickled list of their payloads, each an encoded batch. `keyed`: they went to the subtasks by the
    groups of their keys. `arrow`: some of the batches are encoded as Arrow streams.
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskState:
    """What one subtask has in a checkpoint, and what taking it cost.

    `start_delay_ms` is the time from the trigger to the first barrier here, `alignment_ms` that from the first barrier
    to the last. `upload_ms` is the end of `async_ms`: from when the last part was handed to an I/O thread until all was
    in storage; before it, the state was walked between batches. `processed_bytes` and `persisted_bytes` are of data in
    flight: what came in during the alignment and was processed, and what became part of the checkpoint. `pending` is
    the number of inputs whose asynchronous calls had not ended.
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
        """Bytes of state, inline state and data in flight included."""
        handles = [handle for operator in self.operators for handle in operator.handles()]
        return sum(handle.size_bytes for handle in [*handles, *(each.handle for each in self.in_flight)])
