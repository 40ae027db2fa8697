"""A request to read a job, and the ids of the job's vertices in answers."""

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
    """A job of the server, and the wall-clock time at which it was added.

    `folder` contains its checkpoints, None if they are in the memory of the driver. `facts` describe the platform on
    which the job runs.
    """

    view: JobView
    started_ms: int
    folder: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request to read: the job, the wall-clock time, the parameters in the path and the parameters in the query."""

    job: ServedJob
    now_ms: int
    path: dict[str, str]
    query: dict[str, str]

    def vertex(self) -> VertexPlan:
        """Return the vertex that the path names by id or number. Raises LookupError for an unknown vertex."""
        wanted = self.path["vertex"]
        for vertex in self.job.view.plan.vertices:
            if wanted in (vertex_id(vertex), str(vertex.id)):
                return vertex
        raise LookupError(f"job {self.job.view.job_id} has no vertex {wanted}")


Answer = Callable[[Question], Any]
"""Returns the value of the JSON answer. Raises LookupError, with a message, for unknown names. Never blocks."""


def whole_number(text: str) -> int | None:
    """Return the number that `text` has in decimal digits; None for other text, and for more than 18 digits."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS_MAX else None


def vertex_id(vertex: VertexPlan) -> str:
    """Return the vertex's id of 32 hexadecimal digits, which is derived from the uid of its head operator."""
    return hashlib.md5(vertex.operators[0].uid.encode(), usedforsecurity=False).hexdigest()
