"""Functions that take part in checkpoints: they keep operator state, or are notified when a checkpoint ends.

Flink's interfaces, in snake case; PyFlink has none of them. A user function implements them in addition to its own
interface, on any stream: map, flat map, filter, process functions, sink functions. Callable objects may implement them,
too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from headgate import unsupported
from headgate.errors import StateAccessError
from headgate.functions.context import KeyedStateStore
from headgate.ids import CheckpointId
from headgate.state.operator.operator_state import OperatorStateStore


@final
class FunctionInitializationContext:
    """The argument of `initialize_state`: gives the states, and says whether they were restored."""

    def __init__(
        self, restored_id: CheckpointId | None, store: OperatorStateStore, keyed_store: KeyedStateStore | None
    ) -> None:
        """`keyed_store` is None in a function that does not run on a keyed stream."""
        self._restored_id = restored_id
        self._store = store
        self._keyed_store = keyed_store

    def is_restored(self) -> bool:
        """Return whether the job continues from a checkpoint; the states then hold the values of the checkpoint."""
        return self._restored_id is not None

    def get_restored_checkpoint_id(self) -> int | None:
        """Return the id of the checkpoint that the job continues from, None if there is none."""
        return self._restored_id

    def get_operator_state_store(self) -> OperatorStateStore:
        """Return the states of this subtask."""
        return self._store

    def get_keyed_state_store(self) -> KeyedStateStore:
        """Return the keyed states. Raises StateAccessError in a function that does not run on a keyed stream."""
        if self._keyed_store is None:
            raise StateAccessError(
                "there is no keyed state in a function that does not run on a keyed stream; call key_by(...) before "
                "it, or keep a list in get_operator_state_store()"
            )
        return self._keyed_store


@final
@dataclass(frozen=True, slots=True)
class FunctionSnapshotContext:
    """The argument of `snapshot_state`: describes the checkpoint being taken."""

    _checkpoint_id: CheckpointId
    _trigger_ms: int

    def get_checkpoint_id(self) -> int:
        """Return the id of the checkpoint, which grows from one checkpoint to the next."""
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        """Return when the checkpoint was triggered, in milliseconds of the wall clock of the job master."""
        return self._trigger_ms


class CheckpointedFunction(ABC):
    """A function with operator state: state of a subtask, not of a key.

    >>> from headgate.functions.api import MapFunction
    >>> from headgate.state.descriptors import ListStateDescriptor
    >>> from headgate.types.typeinfo import Types
    >>> class Numbering(MapFunction, CheckpointedFunction):
    ...     def initialize_state(self, context):
    ...         store = context.get_operator_state_store()
    ...         self.saved = store.get_list_state(ListStateDescriptor("count", Types.LONG()))
    ...         self.count = sum(self.saved.get())
    ...     def snapshot_state(self, context):
    ...         self.saved.update([self.count])
    ...     def map(self, value):
    ...         self.count += 1
    ...         return self.count, value
    """

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get the states, and read restored values. Called once for each subtask, before `open`."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Write the values to save into the states. Called at each barrier, between two records.

        The checkpoint saves the states as they are when this returns. An error raised here fails the subtask.
        """


class CheckpointListener:
    """A function that is notified of checkpoints that completed or failed; notifications may be missing.

    The job may fail after any of these calls.
    """

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Take note that the checkpoint is durable; it subsumes all earlier ones. An error fails the subtask."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Take note that the checkpoint was aborted, whether or not `snapshot_state` was called for it."""


unsupported.guard_members("datastream.functions", globals())
