"""What is done while the job runs: show how it gets on, and kill one of its workers on the way."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from witness import Note, notes

from headgate.deploy.handles.running_job import RunningJob

CHECKPOINTS_BEFORE_KILL = 3
LOOK_S = 0.005


class DemoFailed(Exception):
    """The demo has not shown what it is to show."""


@dataclass
class Sighting:
    """What was seen of the job while it ran. Times are in seconds of the monotonic clock."""

    killed_pid: int | None = None
    killed_s: float = 0.0
    checkpoints_before: int = 0
    recovered_s: float | None = None


def watch(job: RunningJob, folder: Path, records: int) -> Sighting:
    """Show how the job gets on, kill one of its workers, and return what was seen once the job has ended."""
    sighting = Sighting()
    line = ProgressLine()
    checkpoints = read_at_checkpoint = 0
    while (outcome := job.wait(LOOK_S)) is None:
        seen = list(notes(folder))
        if not seen:
            continue
        if len(job.progress.checkpoints) > checkpoints:
            checkpoints, read_at_checkpoint = len(job.progress.checkpoints), seen[-1].records
        line.show(sum(note.records for note in seen), checkpoints)
        if sighting.killed_pid is None:
            # Something must have been read since the checkpoint, else nothing would have to be read again.
            if checkpoints >= CHECKPOINTS_BEFORE_KILL and seen[-1].records > max(read_at_checkpoint, records // 3):
                kill(seen[-1], checkpoints, sighting)
                line.say(f"killed a worker with SIGKILL: process {sighting.killed_pid}, {checkpoints} checkpoints made")
        elif sighting.recovered_s is None and len(seen) > 1 and seen[-1].records:
            sighting.recovered_s = time.monotonic() - sighting.killed_s
            line.say(f"goes on from the last checkpoint, {sighting.recovered_s:.1f} s later")
    line.end()
    if outcome.cause is not None:
        raise DemoFailed(f"the job has {outcome.status.word}: {outcome.cause}")
    return sighting


def kill(worker: Note, checkpoints: int, sighting: Sighting) -> None:
    """Kill the process in which the job's own function wrote down its id."""
    if worker.pid == os.getpid():
        raise DemoFailed("the job runs in this process, not on Spark, so there is no worker to kill")
    os.kill(worker.pid, signal.SIGKILL)
    sighting.killed_pid = worker.pid
    sighting.killed_s = time.monotonic()
    sighting.checkpoints_before = checkpoints


class ProgressLine:
    """One line that is written over again; on what is no terminal, a new line now and then."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._interval_s = 0.2 if self._is_terminal else 3.0
        self._due_s = 0.0

    def show(self, read: int, checkpoints: int) -> None:
        """Show how far the job is, if it is time to."""
        if time.monotonic() < self._due_s:
            return
        self._due_s = time.monotonic() + self._interval_s
        text = f"  {read:>9,} flights read, {checkpoints} checkpoints"
        print(f"\r{text}\x1b[K" if self._is_terminal else text, end="" if self._is_terminal else "\n", flush=True)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.end()
        print(f"  {text}", flush=True)

    def end(self) -> None:
        """Take the line away."""
        if self._is_terminal:
            print("\r\x1b[K", end="", flush=True)
