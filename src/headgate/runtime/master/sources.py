"""What the job master knows of the sources of a job."""

from __future__ import annotations

from typing import Any

from headgate.errors import ProgramError
from headgate.functions.source import Source
from headgate.graph.physical import JobPlan
from headgate.operators.source import SourceFactory


def sources_of(plan: JobPlan) -> dict[int, Source[Any]]:
    """Return the sources of a job by vertex."""
    return {
        vertex.id: vertex.operators[0].factory.source
        for vertex in plan.vertices
        if isinstance(vertex.operators[0].factory, SourceFactory)
    }


def check_discovery(name: str, source: Source[Any]) -> None:
    """Raise ProgramError if the source of the operator `name` cannot discover as it says."""
    interval_ms, kind = source.discovery_interval_ms, type(source).__name__
    if interval_ms is None:
        return
    if interval_ms <= 0:
        raise ProgramError(
            f"source {name!r} ({kind}) looks for new splits every {interval_ms} ms: its discovery_interval_ms must be "
            "above 0, or None for never"
        )
    if source.bounded:
        raise ProgramError(
            f"source {name!r} ({kind}) looks for new splits while it runs, so it never ends: set bounded = False, or "
            "discovery_interval_ms = None"
        )
