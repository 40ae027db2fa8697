"""Jobs and their vertices as JSON, with Flink's field names."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import Final

from headgate import __version__, options
from headgate.graph.job_graph import SHIP_STRATEGIES, EdgePlan, JobGraph, VertexPlan
from headgate.graph.placement import edges_of
from headgate.ids import SubtaskId
from headgate.runtime.monitoring.outcome import Failure
from headgate.runtime.monitoring.progress import AttemptRun
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.configuration_json import parameters_shown
from headgate.web.job_view import JobView
from headgate.web.metrics_json import metrics_of, totals
from headgate.web.question import Question, ServedJob, vertex_id, whole_number

_ENDED: Final = ("FINISHED", "CANCELED", "FAILED", "SUSPENDED")
_TASK_STATES: Final = (
    *("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING"),
    *("CANCELING", "CANCELED", "FINISHED", "FAILED", "RECONCILING"),
)
_TASK_STATE_OF: Final = {
    "CREATED": "SCHEDULED",
    "RUNNING": "RUNNING",
    "RESTARTING": "SCHEDULED",
    "FAILING": "FAILED",
    "FAILED": "FAILED",
    "CANCELLING": "CANCELING",
    "CANCELED": "CANCELED",
    "FINISHED": "FINISHED",
    "SUSPENDED": "CANCELED",
}
_REFRESH_MS: Final = 3000
_ERROR_MAX: Final = 500
_TRACEBACK_MAX: Final = 4_000
_USER_PARTS: Final = ("traceback", "key", "record")


# --- the driver


def cluster_overview(jobs: list[ServedJob]) -> Json:
    """Return the numbers of slots and of jobs in this driver."""
    states = Counter(job.view.status().name for job in jobs)
    slots = sum(job.view.progress.placement.slots for job in jobs)
    return {
        "taskmanagers": slots,
        "slots-total": slots,
        "slots-available": 0,
        "jobs-running": sum(count for state, count in states.items() if state not in _ENDED),
        "jobs-finished": states["FINISHED"],
        "jobs-cancelled": states["CANCELED"],
        "jobs-failed": states["FAILED"],
        "flink-version": f"headgate {__version__}",
        "flink-commit": "",
    }


def cluster_config() -> Json:
    """Return the settings that a page in a browser reads first."""
    return {
        "refresh-interval": _REFRESH_MS,
        "timezone-name": time.tzname[0],
        "timezone-offset": -time.timezone * 1000,
        "flink-version": f"headgate {__version__}",
        "flink-revision": "",
        "features": {"web-submit": False, "web-cancel": True, "web-rescale": True, "web-history": False},
    }


def overview(job: ServedJob, now_ms: int) -> Json:
    """Return the row of a job in the list of jobs."""
    state = job.view.status().name
    subtasks = sum(job.view.progress.placement.parallelism)
    return {
        "jid": job.view.job_id,
        "name": job.view.plan.job_name,
        "start-time": job.started_ms,
        "end-time": -1,
        "duration": now_ms - job.started_ms,
        "state": state,
        "last-modification": job.started_ms,
        "tasks": {"total": subtasks, **_tasks(state, subtasks)},
    }


# --- a job


def details(asked: Question) -> Json:
    """Return a job with its vertices."""
    job = asked.job
    state = job.view.status().name
    vertices = job.view.plan.vertices
    return {
        "jid": job.view.job_id,
        "name": job.view.plan.job_name,
        "isStoppable": False,
        "state": state,
        "job-type": "STREAMING",
        "start-time": job.started_ms,
        "end-time": -1,
        "duration": asked.now_ms - job.started_ms,
        "maxParallelism": -1,
        "now": asked.now_ms,
        "timestamps": {"INITIALIZING": job.started_ms},
        "vertices": [_vertex(vertex, asked) for vertex in vertices],
        "status-counts": {name: len(vertices) if name == _task_state(state) else 0 for name in _TASK_STATES},
        "plan": _plan(job.view),
        "pending-operators": 0,
    }


def status(asked: Question) -> Json:
    """Return the status of a job."""
    return {"status": asked.job.view.status().name}


def config(asked: Question) -> Json:
    """Return how a job is executed: the public settings and the user's own parameters."""
    plan, placement = asked.job.view.plan, asked.job.view.progress.placement
    return {
        "jid": plan.job_id,
        "name": plan.job_name,
        "execution-config": {
            "execution-mode": "PIPELINED",
            "restart-strategy": plan.settings.get(options.RESTART_STRATEGY) or "default",
            "job-parallelism": placement.slots,
            "object-reuse-mode": plan.settings.get(options.OBJECT_REUSE),
            "user-config": parameters_shown(plan.parameters),
        },
    }


def plan(asked: Question) -> Json:
    """Return the graph of a job."""
    return {"plan": _plan(asked.job.view)}


def exceptions(asked: Question) -> Json:
    """Return the failures of a job, the newest first; `?maxExceptions=n` limits their number."""
    failures = list(asked.job.view.progress.failures)[::-1]
    shown = failures[: whole_number(asked.query.get("maxExceptions", ""))]
    return {
        "root-exception": shown[0].cause[:_TRACEBACK_MAX] if shown else None,
        "timestamp": shown[0].wall_ms if shown else None,
        "all-exceptions": [],
        "truncated": len(shown) < len(failures),
        "exceptionHistory": {"entries": list(map(_failure, shown)), "truncated": len(shown) < len(failures)},
    }


def _failure(failure: Failure) -> Json:
    origin = failure.origin
    return {
        "exceptionName": failure.cause.strip().rpartition("\n")[2].partition(":")[0][:_ERROR_MAX],
        "stacktrace": failure.cause[:_TRACEBACK_MAX],
        "timestamp": failure.wall_ms,
        "taskName": origin.operator,
        "subtask": origin.subtask,
        "endpoint": None if origin.slot is None else f"slot-{origin.slot}",
        "taskManagerId": None if origin.slot is None else f"slot-{origin.slot}",
        "attempt": failure.attempt,
        "restart-delay": failure.restart_delay_ms,
        "failureLabels": {},
        "concurrentExceptions": [],
        **_of_user(failure),
    }


def _of_user(failure: Failure) -> Json:
    """Return the error in short and, for user code, its traceback, the key and the record, each of bounded length."""
    user = failure.origin.user
    if user is None:
        return {"error": failure.cause.strip().partition("\n")[0][:_ERROR_MAX]} | dict.fromkeys(_USER_PARTS)
    return {
        "error": user.error[:_ERROR_MAX],
        "traceback": user.traceback[-_TRACEBACK_MAX:],
        "key": user.key,
        "record": user.record,
    }


def attempts(asked: Question) -> Json:
    """Return the attempts of a job, the newest first: the times, the parallelism and the end of each."""
    progress = asked.job.view.progress
    failures = {failure.attempt: failure for failure in list(progress.failures)}
    runs = list(progress.attempts)[::-1]
    savepoints = {restore.checkpoint_id for restore in list(progress.statistics.restores) if restore.is_savepoint}
    return {
        "vertices": [vertex.name for vertex in asked.job.view.plan.vertices],
        "attempts": [
            {
                "attempt": run.attempt,
                "parallelism": run.parallelism,
                "restored": run.checkpoint_id,
                "savepoint": run.checkpoint_id in savepoints,
                "deployed": run.deployed_ms,
                "began": run.began_ms,
                "ended": run.ended_ms,
                "end": _end(run, failures.get(run.attempt), is_last=place == 0),
                "error": _of_user(failures[run.attempt])["error"] if run.attempt in failures else None,
            }
            for place, run in enumerate(runs)
        ],
    }


def _end(run: AttemptRun, failure: Failure | None, *, is_last: bool) -> str | None:
    if run.ended_ms is None:
        return None
    if failure is not None:
        return "failure"
    return "end" if is_last else "rescale"


def accumulators(asked: Question) -> Json:
    """Return the counters of the job."""
    counters = asked.job.view.progress.counters()
    found = [{"name": name, "type": "counter", "value": str(count)} for name, count in sorted(counters.items())]
    return {"job-accumulators": [], "user-task-accumulators": found, "serialized-user-task-accumulators": {}}


# --- a vertex


def vertex(asked: Question) -> Json:
    """Return a vertex with its subtasks."""
    found = asked.vertex()
    view = asked.job.view
    return {
        "id": vertex_id(found),
        "name": found.name,
        "parallelism": view.progress.placement.parallelism[found.id],
        "maxParallelism": found.parallelism_max,
        "now": asked.now_ms,
        "subtasks": [
            {
                "subtask": subtask.index,
                "status": _task_state(view.status().name),
                "attempt": view.progress.attempt,
                "endpoint": f"slot-{view.progress.placement.slot_of(subtask)}",
                "taskmanager-id": f"slot-{view.progress.placement.slot_of(subtask)}",
                "start-time": asked.job.started_ms,
                "end-time": -1,
                "duration": asked.now_ms - asked.job.started_ms,
                "metrics": totals([own]),
            }
            for subtask, own in _metrics(found, asked).items()
        ],
    }


def _metrics(vertex: VertexPlan, asked: Question) -> dict[SubtaskId, dict[str, float]]:
    view = asked.job.view
    return {subtask: metrics_of(view).of_task(subtask) for subtask in view.progress.placement.instances_of(vertex.id)}


def _vertex(vertex: VertexPlan, asked: Question) -> Json:
    state, parallelism = asked.job.view.status().name, asked.job.view.progress.placement.parallelism[vertex.id]
    return {
        "id": vertex_id(vertex),
        "name": vertex.name,
        "maxParallelism": vertex.parallelism_max,
        "parallelism": parallelism,
        "programmedParallelism": vertex.parallelism,
        "status": _task_state(state),
        "start-time": asked.job.started_ms,
        "end-time": -1,
        "duration": asked.now_ms - asked.job.started_ms,
        "tasks": _tasks(state, parallelism),
        "metrics": totals(_metrics(vertex, asked).values()),
    }


def _task_state(job_state: str) -> str:
    return _TASK_STATE_OF.get(job_state, "RECONCILING")


def _tasks(job_state: str, subtasks: int) -> dict[str, int]:
    return {name.lower(): subtasks if name == _task_state(job_state) else 0 for name in _TASK_STATES}


def _plan(view: JobView) -> Json:
    """Return the graph with the newest attempt's parallelism, and the partitioning that follows from it."""
    placement = view.progress.placement
    job = replace(view.plan, edges=edges_of(view.plan, placement))
    return {
        "jid": job.job_id,
        "name": job.job_name,
        "type": "STREAMING",
        "nodes": [_node(vertex, placement.parallelism[vertex.id], job) for vertex in job.vertices],
    }


def _node(vertex: VertexPlan, parallelism: int, job: JobGraph) -> Json:
    inputs = [edge for edge in job.edges if edge.target_vertex == vertex.id]
    node = {
        "id": vertex_id(vertex),
        "parallelism": parallelism,
        "operator": "",
        "operator_strategy": "",
        "description": vertex.name,
        "optimizer_properties": {},
        "uids": [operator.uid for operator in vertex.operators],
    }
    return node | {"inputs": [_input(number, edge, job) for number, edge in enumerate(inputs)]} if inputs else node


def _input(number: int, edge: EdgePlan, job: JobGraph) -> Json:
    return {
        "num": number,
        "id": vertex_id(job.vertices[edge.source_vertex]),
        "ship_strategy": SHIP_STRATEGIES[edge.partitioning],
        "exchange": "pipelined_bounded",
    }
