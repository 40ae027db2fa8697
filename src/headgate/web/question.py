"""What a request asks of a job, and the names of the job's vertices in answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from headgate.graph.job_graph import VertexPlan
from headgate.web.job_view import JobView

_DIGITS_MAX: Final = 18


@final
@dataclass(frozen=True, slots=True)
class ServedJob:
    """A job of the server, and when it came, by the wall clock.

    `folder` is where its checkpoints are, None when they are in the memory of the driver; `facts` tell what it runs on.
    """

    view: JobView
    started_ms: int
    folder: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request to read: the job, the time of the wall clock, the parameters in the path and those after it."""

    job: ServedJob
    now_ms: int
    path: dict[str, str]
    query: dict[str, str]

    def vertex(self) -> VertexPlan:
        """Return the vertex that the path names, by its id or its number. Raises LookupError."""
        wanted = self.path["vertex"]
        for vertex in self.job.view.plan.vertices:
            if wanted in (vertex_id(vertex), str(vertex.id)):
                return vertex
        raise LookupError(f"job {self.job.view.job_id} has no vertex {wanted}")


Answer = Callable[[Question], Any]
"""Returns what becomes the JSON answer. Raises LookupError, with a text, for what is not there. Never blocks."""


def whole_number(text: str) -> int | None:
    """Return the number that some digits are, None if they are none, or more than any count here has."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS_MAX else None


def vertex_id(vertex: VertexPlan) -> str:
    """Return the 32 hexadecimal digits that stand for the vertex: they follow from the uid of its head operator."""
    return hashlib.md5(vertex.operators[0].uid.encode(), usedforsecurity=False).hexdigest()
