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
from headgate.types.typeinfo import Types
from tests.simulation.own_jobs.user_code import Record

Counter = tuple[int, int]
"""The name of a counter: the leg of the journey and the subtask that made it."""

NUMBERS: Final = ListStateDescriptor("numbers", Types.TUPLE([Types.INT(), Types.INT(), Types.LONG()]))


class NumberInList(MapFunction, CheckpointedFunction):
    """Numbers records with a counter. Counters are elements of a list that is split: each is at one subtask.

    A subtask numbers with the first of its counters. One that has got none makes one.
    """

    def __init__(self, stage: int, name: str, outside: int, leg: int) -> None:
        self._stage = stage
        self._name = name
        self._outside = outside
        self._leg = leg

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self._saved = context.get_operator_state_store().get_list_state(NUMBERS)

    def open(self, runtime_context: RuntimeContext) -> None:
        system(self._outside).pass_through(f"open of {self._name}")
        self._numbers = self._own_numbers(runtime_context)
        self._counter = min(self._numbers, default=(self._leg, runtime_context.get_index_of_this_subtask()))
        self._numbers.setdefault(self._counter, 0)

    def _own_numbers(self, runtime_context: RuntimeContext) -> dict[Counter, int]:
        return {(leg, subtask): number for leg, subtask, number in self._saved.get()}

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        system(self._outside).pass_through(f"snapshot of {self._name}")
        self._saved.update([(*counter, number) for counter, number in self._numbers.items()])

    def map(self, value: Record) -> Record:
        system(self._outside).pass_through(self._name)
        self._numbers[self._counter] += 1
        return value[0], (*value[1], (self._stage, self._counter, self._numbers[self._counter]))


class NumberInUnion(NumberInList):
    """Keeps the counters in a list of which every subtask gets the elements of all: each takes its share."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self._is_restored = context.is_restored()
        self._saved = context.get_operator_state_store().get_union_list_state(NUMBERS)

    def _own_numbers(self, runtime_context: RuntimeContext) -> dict[Counter, int]:
        own, subtasks = runtime_context.get_index_of_this_subtask(), runtime_context.get_number_of_parallel_subtasks()
        counters = sorted((leg, subtask) for leg, subtask, _ in self._saved.get())
        made = {subtask for leg, subtask in counters if leg == 0}
        is_whole = len(set(counters)) == len(counters) and made == set(range(len(made)))
        if (
            not is_whole
            or bool(counters) != self._is_restored
            or (self._leg == 0 and len(counters) not in (0, subtasks))
        ):
            raise InternalError(f"subtask {own} of {self._name} gets {counters}, not one element of each")
        numbers = super()._own_numbers(runtime_context)
        return {counter: numbers[counter] for counter in counters[own::subtasks]}
