"""The wanted parallelism of a job, in the form of Flink's resource requirements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate import options
from headgate.errors import ProgramError
from headgate.graph.job_graph import JobGraph, VertexPlan
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, vertex_id

UNSET = (None, -1)
"""The values with which Flink's clients leave the lower bound open."""


def requirements(asked: Question) -> Json:
    """Return the wanted parallelism of each vertex. An adaptive job accepts less, so its lower bound is 1."""
    plan, progress = asked.job.view.plan, asked.job.view.progress
    counts = (progress.wanted or progress.placement).parallelism
    is_adaptive = options.is_adaptive(plan.settings)
    return {vertex_id(vertex): _bounds(counts[vertex.id], is_adaptive) for vertex in plan.vertices}


def _bounds(count: int, is_adaptive: bool) -> Json:
    return {"parallelism": {"lowerBound": 1 if is_adaptive else count, "upperBound": count}}


def bounds_of(plan: JobGraph, body: Json) -> dict[int, tuple[int, int]]:
    """Return the bounds in a request, by vertex number. Vertices that the request does not name do not change.

    The lower bound is 1 by default. Raises ProgramError for an unknown vertex and for invalid bounds.
    """
    vertices = {vertex_id(vertex): vertex for vertex in plan.vertices}
    unknown = next((name for name in body if name not in vertices), None)
    if unknown is not None or not body:
        what = "names no vertex" if unknown is None else f"names {unknown!r}, which is not a vertex of the job"
        raise ProgramError(f"the request {what}; there are: {', '.join(vertices)}")
    return {vertices[name].id: _checked(vertices[name], *_read(name, given)) for name, given in body.items()}


def _checked(vertex: VertexPlan, lower: int, upper: int) -> tuple[int, int]:
    if not lower <= upper <= vertex.parallelism_max:
        asked = f"{lower}" if lower == upper else f"{lower} to {upper}"
        raise ProgramError(f"{vertex.name!r} is to have {asked} subtasks, but can have 1 to {vertex.parallelism_max}")
    return lower, upper


def _read(name: str, given: Any) -> tuple[int, int]:
    found = given.get("parallelism") if isinstance(given, Mapping) else None
    if not isinstance(found, Mapping):
        raise ProgramError(f'vertex {name} has {given!r:.100}, but must have {{"parallelism": {{"upperBound": 4}}}}')
    lower, upper = found.get("lowerBound"), found.get("upperBound")
    return _whole(name, "lowerBound", 1 if lower in UNSET else lower), _whole(name, "upperBound", upper)


def _whole(name: str, bound: str, value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ProgramError(f"{bound} of vertex {name} is {value!r:.100}, but must be a whole number of 1 or more")
    return value
