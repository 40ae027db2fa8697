"""The parallelism that a job has, and is to have, in the form of Flink's resource requirements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.errors import ProgramError
from headgate.graph.job_graph import JobGraph
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question, vertex_id

UNSET = (None, -1)
"""Flink's way to leave a bound open."""


def requirements(asked: Question) -> Json:
    """Return the parallelism of each vertex: the job needs as many slots as it has."""
    counts = asked.job.view.progress.placement.parallelism
    return {vertex_id(vertex): _bounds(counts[vertex.id]) for vertex in asked.job.view.plan.vertices}


def _bounds(count: int) -> Json:
    return {"parallelism": {"lowerBound": count, "upperBound": count}}


def bounds_of(plan: JobGraph, body: Json) -> dict[int, tuple[int, int]]:
    """Return the bounds that a request has for vertices, by number. Vertices that it leaves out stay as they are.

    Without a lower bound it is 1. Raises ProgramError for a vertex that is not there, or what is no bound.
    """
    numbers = {vertex_id(vertex): vertex.id for vertex in plan.vertices}
    unknown = next((name for name in body if name not in numbers), None)
    if unknown is not None or not body:
        what = "names no vertex" if unknown is None else f"names {unknown!r}, which is no vertex of the job"
        raise ProgramError(f"the request {what}; there are: {', '.join(numbers)}")
    return {numbers[name]: _read(name, given) for name, given in body.items()}


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
