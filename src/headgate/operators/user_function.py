"""A user function in an operator: its operator state, its calls at checkpoints, and its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import final

from headgate.elements import Barrier
from headgate.functions.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.functions.record_errors import RecordErrors
from headgate.ids import CheckpointId
from headgate.operators.base import (
    USER_ERRORS,
    Operator,
    OperatorContext,
    OperatorSnapshot,
    UserCodeError,
    close_function,
    finish_function,
    method_of,
    open_function,
)
from headgate.operators.calls import RecordCall
from headgate.operators.record_guard import RecordGuard
from headgate.operators.runtime_context import Runtime
from headgate.state.backend import KeyedBackend
from headgate.state.operator.list_elements import ListElements
from headgate.state.operator.operator_state import OperatorStateStore


@final
class UserFunction:
    """One user function of an operator in one subtask, and its operator state (`store`, after `open`).

    A function that does not implement `CheckpointedFunction` has operator state too if its operator uses broadcast
    state. In a job without checkpoints only savepoints save state, and the function is not notified of the final
    checkpoint.
    """

    store: OperatorStateStore
    _saved_as: CheckpointId | None = None
    """The last savepoint."""

    _guard: RecordGuard | None = None

    def __init__(self, function: object, errors: RecordErrors | None = None) -> None:
        """`errors` is the policy for records that the function fails for; None: they fail the subtask."""
        self.function = function
        self._errors = errors

    def open(self, context: OperatorContext, backend: KeyedBackend | None = None) -> Runtime:
        """Restore the operator state, call `initialize_state` and `open`, and return the context given to `open`.

        `backend` holds the keyed state; None on a stream without keys. Raises `UserCodeError`, `RestoreError`.
        """
        self._context = context
        runtime = Runtime(context, backend)
        restored = context.restored
        self.store = OperatorStateStore(context.name, context.subtask, restored.lists, restored.moved_classes)
        if isinstance(self.function, CheckpointedFunction):
            keyed_store = None if backend is None else runtime
            initialization = FunctionInitializationContext(restored.checkpoint_id, self.store, keyed_store)
            try:
                self.function.initialize_state(initialization)
            except USER_ERRORS as error:
                raise UserCodeError(during="initialize_state()") from error
        open_function(self.function, runtime)
        if self._errors is not None:
            self._guard = RecordGuard(self._errors, context)
        return runtime

    def guarded(self, call: RecordCall) -> RecordCall:
        """Return `call`, wrapped by the record guard if there is an error policy. Call it after `open`."""
        return call if self._guard is None else self._guard.around(call)

    def snapshot(self, barrier: Barrier) -> dict[str, ListElements]:
        """Call `snapshot_state`, then return the operator state. Raises `UserCodeError`, `SerializationError`."""
        if barrier.savepoint is not None:
            self._saved_as = barrier.checkpoint_id
        elif not self._context.checkpointing:
            return {}
        if isinstance(self.function, CheckpointedFunction):
            try:
                self.function.snapshot_state(FunctionSnapshotContext(barrier.checkpoint_id, barrier.trigger_ms))
            except USER_ERRORS as error:
                raise UserCodeError(during="snapshot_state()") from error
        return self.store.snapshot()

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        """Notify a `CheckpointListener` of a completed checkpoint. Raises `UserCodeError`."""
        if isinstance(self.function, CheckpointListener) and self._knows(checkpoint_id):
            try:
                self.function.notify_checkpoint_complete(checkpoint_id)
            except USER_ERRORS as error:
                raise UserCodeError(during="notify_checkpoint_complete()") from error

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        """Notify a `CheckpointListener` of an aborted checkpoint. Raises `UserCodeError`."""
        if isinstance(self.function, CheckpointListener) and self._knows(checkpoint_id):
            try:
                self.function.notify_checkpoint_aborted(checkpoint_id)
            except USER_ERRORS as error:
                raise UserCodeError(during="notify_checkpoint_aborted()") from error

    def _knows(self, checkpoint_id: CheckpointId) -> bool:
        return self._context.checkpointing or checkpoint_id == self._saved_as

    def finish(self) -> None:
        """Finish the function. Raises `UserCodeError`."""
        finish_function(self.function)

    def close(self) -> None:
        """Close the function. Raises `UserCodeError`."""
        close_function(self.function)


class UserOperator(Operator):
    """An operator with one user function and without keyed state."""

    def __init__(self, function: object, errors: RecordErrors | None = None) -> None:
        self._user = UserFunction(function, errors)

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._user.open(context)

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        return OperatorSnapshot(uid=self.context.uid, lists=self._user.snapshot(barrier))

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        self._user.notify_completed(checkpoint_id)

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        self._user.notify_aborted(checkpoint_id)

    def end_input(self) -> None:
        self._user.finish()

    def close(self) -> None:
        self._user.close()


class FunctionOperator(UserOperator):
    """An operator that calls one method of a user function."""

    method = ""
    """The method of the `Function` interface that is called for each record."""

    def __init__(self, function: object) -> None:
        super().__init__(function)
        self._call = method_of(function, self.method)

    def open(self, context: OperatorContext) -> None:
        self._passing = context.passing.of_type(context.output_type)
        super().open(context)


@dataclass(frozen=True, slots=True)
class FunctionFactory(ABC):
    """Makes an operator of a user function. `errors` is the policy for records that the function fails for.

    `errors` None: such a record fails the job, and the operator calls the function without a guard.
    """

    function: object
    errors: RecordErrors | None = field(default=None, kw_only=True)

    @abstractmethod
    def create(self) -> Operator:
        """Return a new operator, not yet opened."""
