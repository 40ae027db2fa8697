"""Replays traces: logs of commands to a state machine, each with all that it answered.

A trace is a text file of blocks: a command, a line `----`, then one line for each effect, then the state. A change of
behaviour shows as a difference of text: look at it, and if it is meant, have the traces written again with
`python -m tests.traces.replay --rewrite`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.checkpoint.alignment.strategy import BarrierReceived, CancelReceived, CheckpointGivenUp
from headgate.checkpoint.coordination.failures import CheckpointFailure
from headgate.checkpoint.coordination.vocabulary import CheckpointRequest
from headgate.checkpoint.messages import SubtaskAcked, SubtaskCommitted
from headgate.elements import Barrier, SavepointOrder
from headgate.ids import Attempt, CheckpointId, Launch, SlotIndex, SubtaskId
from headgate.job_status import JobStatus
from headgate.runtime.master import supervisor_vocabulary as s
from headgate.runtime.master.restart_strategies import FixedDelay
from tests.unit.checkpoint import coordinated
from tests.unit.checkpoint.coordinated import SINK
from tests.unit.runtime import supervised

FOLDER = Path(__file__).parent
RULE = "----"

Command = Callable[..., Sequence[Any]]


class Machine(Protocol):
    """A machine under trace: its commands by name, and its state as a line."""

    commands: dict[str, Command]

    def state(self) -> str: ...


class AlignerTrace:
    """barrier CHANNEL ID | cancel CHANNEL ID | abort ID, on three channels."""

    def __init__(self) -> None:
        self._aligner = BarrierAligner(frozenset({0, 1, 2}))
        self.commands: dict[str, Command] = {
            "barrier": lambda channel, id_: self._handle(
                BarrierReceived(channel=int(channel), barrier=Barrier(CheckpointId(int(id_)), 0))
            ),
            "cancel": lambda channel, id_: self._handle(
                CancelReceived(channel=int(channel), checkpoint_id=CheckpointId(int(id_)))
            ),
            "abort": lambda id_: self._handle(CheckpointGivenUp(checkpoint_id=CheckpointId(int(id_)))),
        }

    def _handle(self, event: BarrierReceived | CancelReceived | CheckpointGivenUp) -> Sequence[Any]:
        effects = self._aligner.handle(event)
        self._aligner.check_invariants()
        return effects

    def state(self) -> str:
        return f"pending={self._aligner.pending} blocked={sorted(self._aligner.blocked)}"


class CoordinatorTrace:
    """A source 0.0 and a committing sink 1.0; checkpoints every 100 ms, late after 500 ms, one failure tolerated."""

    def __init__(self) -> None:
        job = self._job = coordinated.Job(tolerable_failures=1)
        self.commands: dict[str, Command] = {
            "start": lambda attempt, last_id, restored: job.start(
                int(attempt), last_id=int(last_id), restored=None if restored == "-" else int(restored)
            ),
            "at": lambda now_ms: job.at(float(now_ms)),
            "ack": lambda id_, *subtasks: job.ack(int(id_), *map(_subtask, subtasks)),
            "ack-of-attempt": lambda attempt, id_, subtask: job.receive(
                SubtaskAcked(
                    attempt=Attempt(int(attempt)),
                    checkpoint_id=CheckpointId(int(id_)),
                    subtask=_subtask(subtask),
                    state=coordinated.STATE,
                )
            ),
            "decline": lambda id_: job.decline(int(id_)),
            "ended": lambda *subtasks: job.end_data(*map(_subtask, subtasks)),
            "committed": lambda id_: job.commit(int(id_)),
            "stored": lambda id_: job.stored(int(id_)),
            "refused": lambda id_: job.refused(int(id_)),
            "request": lambda number: job.request(CheckpointRequest(number=int(number))),
            "savepoint": lambda number: job.savepoint(int(number)),
            "stop": lambda number: job.stop(int(number)),
            "drain": lambda number: job.stop(int(number), drains=True),
            "committed-early": lambda attempt, id_: job.receive(
                SubtaskCommitted(attempt=Attempt(int(attempt)), checkpoint_id=CheckpointId(int(id_)), subtask=SINK)
            ),
            "recorded": lambda id_: job.recorded(int(id_)),
            "not-recorded": lambda id_: job.not_recorded(int(id_)),
            "finishing": lambda attempt, id_: job.start(int(attempt), last_id=int(id_), finishing=int(id_)),
            "job-ended": lambda status: job.end_job(finished=status == "finished"),
            "end-attempt": job.end_attempt,
        }

    def state(self) -> str:
        machine = self._job.coordinator
        return (
            f"{machine.phase.value} completed={list(machine.completed)} in_doubt={machine.gate.in_doubt} "
            f"wake_ms={machine.next_wake_ms()}"
        )


class SupervisorTrace:
    """Two slots, or as `place` says; teardown within 500 ms, start within 1000 ms; two restarts, each after 100 ms."""

    def __init__(self) -> None:
        job = self._job = supervised.Job(FixedDelay(attempts=2, delay_ms=100.0))
        self.commands: dict[str, Command] = {
            "submit": job.submit,
            "at": lambda now_ms: job.at(float(now_ms)),
            "register": lambda slot, launch: job.register(SlotIndex(int(slot)), Launch(int(launch))),
            "lost": lambda slot, launch: job.lose(SlotIndex(int(slot)), Launch(int(launch))),
            "launch-ended": lambda launch, *error: job.end_launch(Launch(int(launch)), " ".join(error) or None),
            "resolved": lambda attempt, *id_: job.resolve(Attempt(int(attempt)), *map(int, id_)),
            "restore-failed": lambda attempt, *reason: job.handle(
                s.RestoreFailed(attempt=Attempt(int(attempt)), reason=" ".join(reason), now_ms=job.now_ms)
            ),
            "ready": lambda slot, attempt: job.ready(SlotIndex(int(slot)), Attempt(int(attempt))),
            "torn-down": lambda slot, attempt: job.torn_down(SlotIndex(int(slot)), Attempt(int(attempt))),
            "failed": lambda attempt: job.fail(Attempt(int(attempt))),
            "done": lambda attempt: job.done(Attempt(int(attempt))),
            "cancel": job.cancel,
            "suspend": job.suspend,
            "last-checkpoint-over": job.checkpoint_over,
            "host-lost": job.lose_host,
            "place": lambda *parallelism: job.place(*map(int, parallelism)),
        }

    def state(self) -> str:
        machine = self._job.supervisor
        return (
            f"{machine.state.value} launch={machine.launch} attempt={machine.attempt} "
            f"restarts={machine.restarts.count} wake_ms={machine.next_wake_ms()}"
        )


MACHINES: dict[str, Callable[[], Machine]] = {
    "alignment": AlignerTrace,
    "coordinator": CoordinatorTrace,
    "supervisor": SupervisorTrace,
}


def traces() -> list[Path]:
    """All traces. The first word of a file's name says which machine it is of."""
    return sorted(FOLDER.glob("*.txt"))


def replay(path: Path) -> str:
    """Return the trace as its machine answers it now."""
    machine = MACHINES[path.stem.partition("-")[0]]()
    return "\n".join(_replay_block(machine, block) for block in path.read_text().rstrip("\n").split("\n\n")) + "\n"


def _replay_block(machine: Machine, block: str) -> str:
    lines = block.split("\n")
    if lines[0].startswith("#"):
        return block + "\n"
    name, *arguments = lines[0].split()
    effects = machine.commands[name](*arguments)
    answer = "".join(f"{_render(effect)}\n" for effect in effects)
    return f"{lines[0]}\n{RULE}\n{answer}{machine.state()}\n"


def _render(effect: Any) -> str:
    fields = [f"{part.name}={_render_value(getattr(effect, part.name))}" for part in dataclasses.fields(effect)]
    return " ".join([type(effect).__name__, *fields])


def _render_value(value: Any) -> str:
    if isinstance(value, dict):
        return "[" + ", ".join(str(key) for key in sorted(value)) + "]"
    if isinstance(value, Barrier):
        return f"{value.checkpoint_id}" + (f"@{value.trigger_ms}" if value.trigger_ms else "")
    if isinstance(value, SavepointOrder):
        return value.location + (" (stops)" if value.stops else "")
    if isinstance(value, CheckpointRequest):
        return f"#{value.number}"
    if isinstance(value, CheckpointFailure):
        return repr(value.text)
    if isinstance(value, JobStatus):
        return value.word
    if isinstance(value, Enum):
        return str(value.value)
    return repr(value)


def _subtask(name: str) -> SubtaskId:
    vertex, index = name.split(".")
    return SubtaskId(int(vertex), int(index))


if __name__ == "__main__":
    if sys.argv[1:] != ["--rewrite"]:
        sys.exit("usage: python -m tests.traces.replay --rewrite")
    for trace in traces():
        trace.write_text(replay(trace))
