"""Messages of subtasks to the checkpoint coordinator, and the state that they get when they restore."""

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
    """The subtask acknowledges the checkpoint: its state is in storage."""

    attempt: Attempt
    checkpoint_id: CheckpointId
    subtask: SubtaskId
    state: SubtaskState


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskDeclined:
    """The subtask declines the checkpoint: for a `fault`, or because another subtask has given the checkpoint up."""

    attempt: Attempt
    checkpoint_id: CheckpointId
    subtask: SubtaskId
    reason: str
    fault: bool = True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskEnded:
    """The subtask has processed all its input, which is bounded. It stays, and forwards barriers."""

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

    The parts in `keyed` may hold more key groups than the subtask owns; it reads only its own. `lists` are the list
    states of the operator, with the elements that this subtask gets.
    """

    keyed: tuple[KeyedState, ...] = ()
    lists: dict[str, ListElements] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskRecovered:
    """The subtask has processed all data in flight with which it was restored."""

    attempt: Attempt
    subtask: SubtaskId


CheckpointMessage = SubtaskAcked | SubtaskDeclined | SubtaskEnded | SubtaskCommitted | SubtaskRecovered
