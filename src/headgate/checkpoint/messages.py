"""What subtasks tell the checkpoint coordinator, and what they are told when they start from a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from headgate.checkpoint.handles import SubtaskState
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.state.files import KeyedState
from headgate.state.operator.list_elements import ListElements


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskAcked:
    """The subtask's state for the checkpoint is complete in storage."""

    attempt: Attempt
    checkpoint_id: CheckpointId
    subtask: SubtaskId
    state: SubtaskState


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskDeclined:
    """The subtask does not take part in the checkpoint: because of a `fault`, or since another has given it up."""

    attempt: Attempt
    checkpoint_id: CheckpointId
    subtask: SubtaskId
    reason: str
    fault: bool = True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskEnded:
    """The subtask has processed all of its bounded input. It stays, and still forwards barriers."""

    attempt: Attempt
    subtask: SubtaskId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskCommitted:
    """All sinks of the subtask have committed everything up to the checkpoint."""

    attempt: Attempt
    checkpoint_id: CheckpointId
    subtask: SubtaskId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredOperator:
    """The state that one operator of one subtask starts from.

    `keyed` are parts that may hold more key groups than the subtask owns; it takes its own. `lists` has every list
    state of the operator, with the elements assigned to this subtask.
    """

    keyed: tuple[KeyedState, ...] = ()
    lists: dict[str, ListElements] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskRecovered:
    """The subtask has processed all data in flight that it was restored with."""

    attempt: Attempt
    subtask: SubtaskId


CheckpointMessage = SubtaskAcked | SubtaskDeclined | SubtaskEnded | SubtaskCommitted | SubtaskRecovered
