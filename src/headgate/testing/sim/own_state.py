"""Functions of simulated jobs that keep state of their subtask: each record gets its number among those of the subtask.

Which subtask gets a record is a matter of chance, but whatever comes to a subtask it numbers without gaps.
"""

from __future__ import annotations

from typing import Final

from headgate.errors import InternalError
from headgate.functions.api import MapFunction
from headgate.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.functions.context import RuntimeContext
from headgate.state.descriptors import ListStateDescriptor
from headgate.testing.sim.external import system
from headgate.testing.sim.user_code import Record
from headgate.types.typeinfo import Types

NUMBERS: Final = ListStateDescriptor("numbers", Types.TUPLE([Types.INT(), Types.LONG()]))


class NumberInList(MapFunction, CheckpointedFunction):
    """Keeps the number of the last record as the one element of a list that is split."""

    def __init__(self, stage: int, name: str, outside: int) -> None:
        self._stage = stage
        self._name = name
        self._outside = outside

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self._saved = context.get_operator_state_store().get_list_state(NUMBERS)

    def open(self, runtime_context: RuntimeContext) -> None:
        system(self._outside).pass_through(f"open of {self._name}")
        self._subtask = runtime_context.get_index_of_this_subtask()
        self._number = dict(self._saved.get()).get(self._subtask, 0)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        system(self._outside).pass_through(f"snapshot of {self._name}")
        self._saved.update([(self._subtask, self._number)])

    def map(self, value: Record) -> Record:
        system(self._outside).pass_through(self._name)
        self._number += 1
        return value[0], (*value[1], (self._stage, self._subtask, self._number))


class NumberInUnion(NumberInList):
    """Keeps it in a list of which every subtask gets the elements of all."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self._is_restored = context.is_restored()
        self._saved = context.get_operator_state_store().get_union_list_state(NUMBERS)

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        subtasks = runtime_context.get_number_of_parallel_subtasks() if self._is_restored else 0
        numbers = self._saved.get()
        if sorted(subtask for subtask, _ in numbers) != list(range(subtasks)):
            raise InternalError(f"subtask {self._subtask} of {self._name} gets {numbers}, not one element of each")
