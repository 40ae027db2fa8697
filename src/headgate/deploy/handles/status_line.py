"""A running job in one line, for a terminal. Pure."""

from __future__ import annotations

from typing import Final

from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt
from headgate.operators.print import PrintFactory
from headgate.runtime.job_storage.sources import sources_of
from headgate.runtime.monitoring.progress import JobProgress

FIRST: Final = Attempt(1)
_BAR: Final = 20


def status_line(plan: JobGraph, state: str, progress: JobProgress, now_ms: int) -> str:
    """Return what is known of a job in one line; `now_ms` is wall clock.

    The share of the input that is read is in it where all sources say how much there is, until the job begins again:
    from then on it is not known how much was read before.
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
    """Return whether a job prints records, so that a line of another kind would be in their way."""
    return any(isinstance(each.factory, PrintFactory) for vertex in plan.vertices for each in vertex.operators)


def _rate(plan: JobGraph, progress: JobProgress) -> float:
    """Return how many records all sources read in a second."""
    sources = sources_of(plan).keys()
    return sum(own.rates.records_in for subtask, own in progress.subtasks.items() if subtask.vertex in sources)


def _share(plan: JobGraph, progress: JobProgress) -> str:
    """Return a bar of what has been read, nothing where that is not known."""
    sources = sources_of(plan)
    totals = [source.records_total for source in sources.values()]
    known = [total for total in totals if total is not None]
    if progress.attempt != FIRST or progress.statistics.counts.restored or len(known) < len(totals) or not sum(known):
        return ""
    read = sum(own.traffic.records_in for subtask, own in progress.subtasks.items() if subtask.vertex in sources)
    share = min(1.0, read / sum(known))
    return f"[{'#' * int(share * _BAR):{_BAR}}] {share:.0%}"
