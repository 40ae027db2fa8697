"""Operators of simulated jobs that ask for each record elsewhere, and emit it when the answer has come."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, final

from headgate.operators.pending import PendingInput, PendingOperator
from headgate.testing.sim.external import system
from tests.simulation.own_jobs.user_code import Record

CAPACITY: Final = 3


@final
class Asking(PendingOperator):
    """Emits each record as it is, once the answer for it has come."""

    def __init__(self, name: str, outside: int, *, keyed: bool) -> None:
        super().__init__(CAPACITY, ordered=not keyed, keyed=keyed)
        self._name = name
        self._outside = outside

    def begin(self, pending: PendingInput) -> None:
        self.context.services.submit_waiting(partial(self._ask, pending.record), partial(self._answered, pending))

    def _ask(self, record: Record) -> Record:
        system(self._outside).pass_through(self._name)
        return record

    def _answered(self, pending: PendingInput, answer: Record | BaseException) -> None:
        if isinstance(answer, BaseException):
            self.context.services.fail(answer)
        else:
            self.done(pending, [answer])


@final
@dataclass(frozen=True, slots=True)
class AskingFactory:
    """Makes the operator. By key, answers leave as they come."""

    name: str
    outside: int
    keyed: bool

    def create(self) -> Asking:
        return Asking(self.name, self.outside, keyed=self.keyed)
