"""Checks, before a job runs, that the job has nothing that a batch job cannot do."""

from __future__ import annotations

from headgate.config import Settings
from headgate.errors import ProgramError
from headgate.graph.logical import LogicalGraph
from headgate.operators.source import SourceFactory
from headgate.options import RECOVERY_PATH, RUNTIME_MODE


def is_batch(graph: LogicalGraph, settings: Settings) -> bool:
    """Return whether the job is a batch job. AUTOMATIC makes it one when every source is bounded, as in Flink.

    Raises ProgramError for BATCH with an unbounded source, or with a snapshot to start from.
    """
    mode = settings.get(RUNTIME_MODE)
    if mode == "STREAMING" or not graph.nodes:
        return False
    endless = [node.name for node in graph.nodes if not _is_bounded(node.operator)]
    restores = settings.get(RECOVERY_PATH) is not None
    if mode == "AUTOMATIC":
        return not endless and not restores
    if endless:
        raise ProgramError(
            f"the runtime mode is BATCH, but source {endless[0]!r} never ends, or looks for more to read while "
            "the job runs: use a bounded source, or set the runtime mode to STREAMING (or AUTOMATIC)"
        )
    if restores:
        raise ProgramError(
            f"the runtime mode is BATCH, and {RECOVERY_PATH.key} names a snapshot to start from, but a batch job "
            "begins without state: leave the snapshot out, or set the runtime mode to STREAMING"
        )
    return True


def _is_bounded(operator: object) -> bool:
    """Return whether an operator, if it is a source, has all its splits at the start."""
    if not isinstance(operator, SourceFactory):
        return True
    return operator.source.bounded and operator.source.discovery_interval_ms is None
