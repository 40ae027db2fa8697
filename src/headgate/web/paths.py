"""The paths of the REST interface, with Flink's names, and their endpoints."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from headgate.checkpoint.cleanup.deletion import dispose_savepoint
from headgate.checkpoint.file_store import FileSystemStore
from headgate.errors import HeadgateError, ProgramError
from headgate.ids import JobId
from headgate.runtime.monitoring.exposition import CONTENT_TYPE, exposition
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web import (
    checkpoint_json,
    checkpoint_phases,
    configuration_json,
    diagnostics_json,
    job_json,
    metrics_json,
    requirements_json,
)
from headgate.web.answers import PRIVATE, JsonAnswer
from headgate.web.checks import check_reach
from headgate.web.operations import OperationKind
from headgate.web.question import ServedJob
from headgate.web.requests import ServedJobs, body_of, flag_of, format_of, job_of, of_records, reading, text_of


@final
class RestPaths:
    """The endpoints of the paths. They run on the server's loop, so nothing may block."""

    def __init__(self, served: ServedJobs) -> None:
        self._served = served
        self._operations = served.operations
        self._disposals = ThreadPoolExecutor(1, "headgate-rest-disposal")

    def routes(self) -> list[BaseRoute]:
        """Return the routes, each with its endpoint."""
        own: list[BaseRoute] = [
            Route("/overview", self._overview),
            Route("/config", self._config),
            Route("/jobs", self._jobs),
            Route("/jobs/overview", self._jobs_overview),
            Route("/metrics", self._exposition),
            Route("/savepoint-disposal", self._dispose, methods=["POST"]),
            Route("/savepoint-disposal/{trigger}", self._disposal),
        ]
        reads = {
            "": job_json.details,
            "/status": job_json.status,
            "/config": job_json.config,
            "/plan": job_json.plan,
            "/exceptions": job_json.exceptions,
            "/attempts": job_json.attempts,
            "/logs": diagnostics_json.log_slots,
            "/configuration": configuration_json.configuration,
            "/environment": configuration_json.environment,
            "/accumulators": job_json.accumulators,
            "/metrics": metrics_json.of_job,
            "/checkpoints": checkpoint_json.overview,
            "/checkpoints/config": checkpoint_json.config,
            "/checkpoints/log": checkpoint_json.log,
            "/checkpoints/curve": checkpoint_json.curve,
            "/checkpoints/details/{checkpoint}": checkpoint_json.details,
            "/checkpoints/details/{checkpoint}/chart": checkpoint_phases.chart,
            "/checkpoints/details/{checkpoint}/subtasks/{vertex}": checkpoint_json.subtasks,
            "/resource-requirements": requirements_json.requirements,
            "/vertices/{vertex}": job_json.vertex,
            "/vertices/{vertex}/backpressure": metrics_json.backpressure,
            "/vertices/{vertex}/watermarks": metrics_json.watermarks,
            "/vertices/{vertex}/metrics": metrics_json.of_vertex,
            "/vertices/{vertex}/subtasks/metrics": metrics_json.of_subtasks,
        }
        records = {
            "/logs/{slot}": diagnostics_json.log_lines,
            "/failed-records": diagnostics_json.failed_records,
        }
        writes = {
            "": (self._cancel, "PATCH"),
            "/checkpoints": (self._checkpoint, "POST"),
            "/savepoints": (self._savepoint, "POST"),
            "/stop": (self._stop, "POST"),
            "/resource-requirements": (self._rescale, "PUT"),
        }
        own += [Route(f"/jobs/{{job}}{path}", reading(self._served, answer)) for path, answer in reads.items()]
        own += [
            Route(f"/jobs/{{job}}{path}", of_records(reading(self._served, answer))) for path, answer in records.items()
        ]
        own += [Route(f"/jobs/{{job}}{path}", answer, methods=[verb]) for path, (answer, verb) in writes.items()]
        own += [
            Route(f"/jobs/{{job}}/{kind.value}/{{trigger}}", self._asking(kind))
            for kind in (OperationKind.SAVEPOINT, OperationKind.CHECKPOINT, OperationKind.RESCALING)
        ]
        return own

    # --- the driver

    async def _overview(self, request: Request) -> Response:
        return JsonAnswer(job_json.cluster_overview(list(self._served.by_id.values())))

    async def _config(self, request: Request) -> Response:
        return JsonAnswer(job_json.cluster_config())

    async def _jobs(self, request: Request) -> Response:
        jobs = [{"id": id_, "status": job.view.status().name} for id_, job in self._served.by_id.items()]
        return JsonAnswer({"jobs": jobs})

    async def _jobs_overview(self, request: Request) -> Response:
        now_ms = self._served.clock.wall_ms()
        return JsonAnswer({"jobs": [job_json.overview(job, now_ms) for job in self._served.by_id.values()]})

    async def _exposition(self, request: Request) -> Response:
        jobs = [metrics_json.metrics_of(job.view) for job in self._served.by_id.values()]
        return Response(exposition(jobs, self._served.clock.wall_ms()), headers=PRIVATE, media_type=CONTENT_TYPE)

    # --- a job

    async def _cancel(self, request: Request) -> Response:
        job = job_of(self._served, request)
        mode = request.query_params.get("mode", "cancel")
        if mode != "cancel":
            raise HTTPException(400, f"mode is {mode!r}, but must be cancel; to stop a job, POST to .../stop")
        job.view.cancel()
        return JsonAnswer({}, 202)

    async def _checkpoint(self, request: Request) -> Response:
        job, body = job_of(self._served, request), await body_of(request)
        return self._ordered(OperationKind.CHECKPOINT, job, body, lambda: job.view.trigger_checkpoint())

    async def _savepoint(self, request: Request) -> Response:
        job, body = job_of(self._served, request), await body_of(request)
        target, format_ = text_of(body, "target-directory"), format_of(body)
        cancels = flag_of(body, "cancel-job")
        check_reach(target, [job.view.plan.settings])

        def order() -> Future[str]:
            future = job.view.trigger_savepoint(target, format_)
            if cancels:
                future.add_done_callback(lambda done: None if done.exception() else job.view.cancel())
            return future

        return self._ordered(OperationKind.SAVEPOINT, job, body, order)

    async def _stop(self, request: Request) -> Response:
        job, body = job_of(self._served, request), await body_of(request)
        drain, target, format_ = flag_of(body, "drain"), text_of(body, "targetDirectory"), format_of(body)
        check_reach(target, [job.view.plan.settings])
        return self._ordered(
            OperationKind.SAVEPOINT, job, body, lambda: job.view.stop_with_savepoint(drain, target, format_)
        )

    async def _rescale(self, request: Request) -> Response:
        job, body = job_of(self._served, request), await body_of(request)
        try:
            bounds = requirements_json.bounds_of(job.view.plan, body)
        except ProgramError as error:
            raise HTTPException(400, str(error)) from None
        operation = self._operations.begin(OperationKind.RESCALING, job.view.job_id, job.view.rescale(bounds))
        return JsonAnswer({"request-id": operation})

    def _ordered(self, kind: OperationKind, job: ServedJob, body: Json, order: Any) -> Response:
        """Begin the operation, unless one with this trigger id exists: a client may repeat a request."""
        given, owner = text_of(body, "triggerId"), job.view.job_id
        if given is None or not self._operations.is_known(kind, owner, given):
            try:
                given = self._operations.begin(kind, owner, order(), given)
            except HeadgateError as error:
                raise HTTPException(400, str(error)) from None
        return JsonAnswer({"request-id": given}, 202)

    def _asking(self, kind: OperationKind) -> Any:
        async def ask(request: Request) -> Response:
            return self._answer(kind, request.path_params["job"], request)

        return ask

    # --- savepoints of any job

    async def _dispose(self, request: Request) -> Response:
        path = text_of(await body_of(request), "savepoint-path")
        if path is None:
            raise HTTPException(400, "savepoint-path is missing: the savepoint to delete")
        check_reach(path, [job.view.plan.settings for job in self._served.by_id.values()])
        future = self._disposals.submit(dispose_savepoint, path, FileSystemStore.open_folder)
        return JsonAnswer({"request-id": self._operations.begin(OperationKind.DISPOSAL, "", future)}, 202)

    async def _disposal(self, request: Request) -> Response:
        return self._answer(OperationKind.DISPOSAL, "", request)

    def _answer(self, kind: OperationKind, owner: str, request: Request) -> Response:
        trigger = request.path_params["trigger"]
        found = self._operations.answer(kind, owner, trigger)
        if found is None:
            raise HTTPException(404, f"there is no request {trigger}")
        if kind is OperationKind.SAVEPOINT and found["operation"] is not None:
            self._add_pending(owner, found["operation"])
        return JsonAnswer(found)

    def _add_pending(self, owner: str, savepoint: Json) -> None:
        """Add the number of inputs that the savepoint contains because their asynchronous calls had not ended."""
        job = self._served.by_id.get(JobId(owner))
        newest = None if job is None else job.view.progress.statistics.latest.savepoint
        if newest is not None and newest.location == savepoint.get("location"):
            savepoint["pending-inputs"] = newest.pending
