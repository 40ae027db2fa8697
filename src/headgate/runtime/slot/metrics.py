"""The time shares and rates of a subtask, measured around its pieces of work.

A slot has one thread, and downstream subtasks use it first. A subtask is busy while it has the thread. It is
back-pressured while it has work but cannot do it: its outputs have no room, or downstream subtasks have the thread.
Otherwise it is idle. So the busy times of a slot's subtasks never add up to more than the time that has passed, and a
subtask without outputs is never back-pressured.
"""

from __future__ import annotations

from typing import Final, final

from headgate.functions.metrics import Scope
from headgate.graph.job_graph import JobGraph, OperatorPlan
from headgate.ids import Attempt, SubtaskId
from headgate.runtime.control.subtask_metrics import Rates, TimeShares, Traffic

RATE_MS_MIN: Final = 500.0
"""The shortest time, in milliseconds, from which rates are computed: over less time they would be noise."""


def scope_of(plan: JobGraph, subtask: SubtaskId, operator: OperatorPlan, attempt: Attempt) -> Scope:
    """Return the scope of the metrics of an operator's functions."""
    return Scope(
        components=(plan.job_name, operator.name, str(subtask.index)),
        variables={
            "<job_id>": plan.job_id,
            "<job_name>": plan.job_name,
            "<task_name>": plan.vertex_of(subtask).name,
            "<operator_id>": operator.uid,
            "<operator_name>": operator.name,
            "<subtask_index>": str(subtask.index),
            "<task_attempt_num>": str(attempt - 1),
        },
    )


@final
class SubtaskMeter:
    """Measures one subtask of one attempt. Owned by the slot's loop. All times are monotonic, in milliseconds."""

    __slots__ = ("_back_pressured_ms", "_began_ms", "_busy_ms", "_held_since_ms", "_last", "_rates")

    def __init__(self, now_ms: float) -> None:
        self._began_ms = now_ms
        self._busy_ms = 0.0
        self._back_pressured_ms = 0.0
        self._held_since_ms: float | None = None
        self._last = (now_ms, Traffic(), TimeShares())
        self._rates: Rates | None = None

    def worked(self, began_ms: float, ended_ms: float) -> None:
        """Note a piece of work of the subtask."""
        self._busy_ms += ended_ms - began_ms
        self.released(began_ms)

    def held_back(self, now_ms: float) -> None:
        """Note that the subtask has work but no room in its outputs, or no turn."""
        if self._held_since_ms is None:
            self._held_since_ms = now_ms

    def released(self, now_ms: float) -> None:
        """Note that the subtask is not, or no longer, back-pressured."""
        if self._held_since_ms is not None:
            self._back_pressured_ms += now_ms - self._held_since_ms
            self._held_since_ms = None

    def held_back_ms(self, now_ms: float) -> float:
        """Return the total milliseconds for which the subtask was back-pressured."""
        held_ms = 0.0 if self._held_since_ms is None else now_ms - self._held_since_ms
        return self._back_pressured_ms + held_ms

    def shares(self, now_ms: float) -> TimeShares:
        """Return the time shares since the attempt began."""
        back_pressured_ms = self.held_back_ms(now_ms)
        idle_ms = max(0.0, now_ms - self._began_ms - self._busy_ms - back_pressured_ms)
        return TimeShares(busy_ms=self._busy_ms, back_pressured_ms=back_pressured_ms, idle_ms=idle_ms)

    def rates(self, traffic: Traffic, now_ms: float) -> Rates:
        """Return the rates per second since the last call."""
        since_ms, before, time_before = self._last
        passed_ms = now_ms - since_ms
        if passed_ms < RATE_MS_MIN and self._rates is not None:
            return self._rates
        time = self.shares(now_ms)
        each = 1000.0 / passed_ms if passed_ms > 0 else 0.0
        self._last = (now_ms, traffic, time)
        self._rates = Rates(
            records_in=each * (traffic.records_in - before.records_in),
            records_out=each * (traffic.records_out - before.records_out),
            bytes_in=each * (traffic.bytes_in - before.bytes_in),
            bytes_out=each * (traffic.bytes_out - before.bytes_out),
            time=TimeShares(
                busy_ms=each * (time.busy_ms - time_before.busy_ms),
                back_pressured_ms=each * (time.back_pressured_ms - time_before.back_pressured_ms),
                idle_ms=each * (time.idle_ms - time_before.idle_ms),
            ),
        )
        return self._rates
