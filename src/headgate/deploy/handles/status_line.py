"""The status line of a job: the status of the job in one line, which a terminal shows while a program waits."""

from __future__ import annotations

import shutil
from typing import Final, Protocol, TextIO

from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt
from headgate.operators.plain_sinks import PrintFactory
from headgate.runtime.job_storage.sources import sources_of
from headgate.runtime.monitoring.outcome import JobOutcome
from headgate.runtime.monitoring.progress import JobProgress

SHOW_EVERY_S: Final = 0.5
"""Seconds between two updates of the line."""
_FIRST: Final = Attempt(1)
_BAR: Final = 20
"""Width of the bar in characters."""
_ERASE: Final = "\r\x1b[2K"


def status_line(plan: JobGraph, state: str, progress: JobProgress, now_ms: int) -> str:
    """Return the status of a job in one line; `now_ms` is wall-clock time in milliseconds.

    The line contains the share of the input that was read, if all sources know their size. It has no share after a
    restart: the new attempt does not know how much the previous attempts read.
    """
    parts = [f"{plan.job_name} {state}", _share(plan, progress), f"{_rate(plan, progress):,.0f} records/s"]
    newest = progress.statistics.latest.completed
    if newest is not None:
        figures = progress.checkpoints[-1]
        age_s = max(0, now_ms - newest.barrier.trigger_ms) / 1000
        parts.append(f"checkpoint {newest.checkpoint_id} {age_s:.0f} s ago, {figures.duration_ms:.0f} ms")
    lags_ms = [own.watermark_lag_ms for own in progress.subtasks.values() if own.watermark_lag_ms is not None]
    if lags_ms:
        parts.append(f"watermark {max(lags_ms) / 1000:,.1f} s behind")
    if progress.restarts:
        parts.append(f"{progress.restarts} restart{'' if progress.restarts == 1 else 's'}")
    return " | ".join(part for part in parts if part)


def prints(plan: JobGraph) -> bool:
    """Return whether a job prints records. A status line would get mixed up with them."""
    return any(isinstance(each.factory, PrintFactory) for vertex in plan.vertices for each in vertex.operators)


def _rate(plan: JobGraph, progress: JobProgress) -> float:
    """Return the records that all sources read per second."""
    sources = sources_of(plan).keys()
    return sum(own.rates.records_in for subtask, own in progress.subtasks.items() if subtask.vertex in sources)


def _share(plan: JobGraph, progress: JobProgress) -> str:
    """Return a bar with the share of the input that was read, an empty string if the share is unknown."""
    sources = sources_of(plan)
    totals = [source.records_total for source in sources.values()]
    known = [total for total in totals if total is not None]
    if progress.attempt != _FIRST or progress.statistics.counts.restored or len(known) < len(totals) or not sum(known):
        return ""
    read = sum(own.traffic.records_in for subtask, own in progress.subtasks.items() if subtask.vertex in sources)
    share = min(1.0, read / sum(known))
    return f"[{'#' * int(share * _BAR):{_BAR}}] {share:.0%}"


class Watched(Protocol):
    """A job with a status line."""

    def wait(self, timeout_s: float | None = None) -> JobOutcome | None:
        """Block until the job has ended, or the timeout expires. Return the outcome, None if the job still runs."""
        ...

    def line(self) -> str | None:
        """Return the status line, None if there is nothing to show."""
        ...


def wait_with_line(job: Watched, terminal: TextIO) -> JobOutcome:
    """Block until the job has ended, and update the status line on the terminal. Return the outcome.

    The line is erased at the end, also if the wait is interrupted.
    """
    try:
        while (outcome := job.wait(SHOW_EVERY_S)) is None:
            line = job.line()
            if line is not None:
                terminal.write(f"{_ERASE}{line[: shutil.get_terminal_size().columns - 1]}")
                terminal.flush()
        return outcome
    finally:
        terminal.write(_ERASE)
        terminal.flush()
