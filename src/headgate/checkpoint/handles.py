"""What subtasks and their operators have in a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from headgate.state.files import KeyedState, StateHandle
from headgate.state.operator.list_elements import ListMode


@final
@dataclass(frozen=True, slots=True)
class ListState:
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
    lists: dict[str, ListState] = field(default_factory=dict)

    def handles(self) -> list[StateHandle]:
        """Return the handles on all of its state."""
        keyed = [] if self.keyed is None else self.keyed.handles()
        return [*keyed, *(state.handle for state in self.lists.values())]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskState:
    """What one subtask has in a checkpoint, and what taking it cost."""

    operators: tuple[OperatorState, ...]
    sync_ms: float = 0.0
    async_ms: float = 0.0
    alignment_ms: float = 0.0

    @property
    def size_bytes(self) -> int:
        """Bytes of state, inline state included."""
        return sum(handle.size_bytes for operator in self.operators for handle in operator.handles())
