"""The paths of the REST interface. With or without the prefix /v1, as in Flink."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.checkpoint.cleanup.disposal import dispose_savepoint
from headgate.checkpoint.file_store import FileSystemStore
from headgate.elements import SavepointFormat
from headgate.errors import HeadgateError, ProgramError
from headgate.ids import JobId
from headgate.runtime.monitoring.exposition import CONTENT_TYPE, exposition
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web import checkpoint_json, job_json, metrics_json, requirements_json
from headgate.web.access import RestConfig
from headgate.web.operations import OperationKind
from headgate.web.origin import foreign, own_names
from headgate.web.question import Answer, Question, ServedJob
from headgate.web.served_jobs import ServedJobs

_log = logging.getLogger(__name__)

BODY_BYTES_MAX: Final = 64 * 1024
BODY_S_MAX: Final = 10.0
PROVEN: Final = "proven"
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def application(jobs: ServedJobs, token: str, config: RestConfig) -> Starlette:
    """Return the application that answers for the jobs to who has the token; with open metrics to all for metrics."""
    paths = _Paths(jobs)
    routes = paths.routes()
    app = Starlette(
        routes=[*routes, Mount("/v1", routes=routes)],
        middleware=[
            Middleware(_OriginCheck, names=own_names(config)),
            Middleware(_TokenCheck, token=token, open_metrics=config.open_metrics),
        ],
        exception_handlers={HTTPException: _refused, Exception: _broken},
    )
    app.router.redirect_slashes = False
    return app


class _OriginCheck:
    """Refuses requests that a page of another site has a browser send."""

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = foreign(dict(scope["headers"]), self._names)
        await (self._app if refusal is None else _errors(*refusal))(scope, receive, send)


class _TokenCheck:
    """Answers 401 to requests without the token. The comparison takes as long for any wrong one.

    A connection on which a request with the token has come is told so, by what its scope has for `PROVEN`.
    """

    def __init__(self, app: ASGIApp, token: str, open_metrics: bool) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()
        self._open = ("/metrics", "/v1/metrics") if open_metrics else ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope["headers"]).get(b"authorization", b"")
        proven = hmac.compare_digest(given, self._wanted)
        if proven:
            scope["state"].get(PROVEN, _nothing)()
        if proven or scope["path"] in self._open:
            await self._app(scope, receive, send)
            return
        refusal = _errors(401, "the driver's token is needed: `Authorization: Bearer <token>`; `headgate` finds it")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        await refusal(scope, receive, send)


class _Paths:
    """What each path answers. Runs on the server's loop, where nothing may block."""

    def __init__(self, served: ServedJobs) -> None:
        self._served = served
        self._operations = served.operations
        self._disposals = ThreadPoolExecutor(1, "headgate-rest-disposal")

    def routes(self) -> list[BaseRoute]:
        """Return the routes, each with what answers it."""
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
            "/accumulators": job_json.accumulators,
            "/metrics": metrics_json.of_job,
            "/checkpoints": checkpoint_json.overview,
            "/checkpoints/config": checkpoint_json.config,
            "/checkpoints/details/{checkpoint}": checkpoint_json.details,
            "/checkpoints/details/{checkpoint}/subtasks/{vertex}": checkpoint_json.subtasks,
            "/resource-requirements": requirements_json.requirements,
            "/vertices/{vertex}": job_json.vertex,
            "/vertices/{vertex}/backpressure": metrics_json.backpressure,
            "/vertices/{vertex}/watermarks": metrics_json.watermarks,
            "/vertices/{vertex}/metrics": metrics_json.of_vertex,
            "/vertices/{vertex}/subtasks/metrics": metrics_json.of_subtasks,
        }
        writes = {
            "": (self._cancel, "PATCH"),
            "/checkpoints": (self._checkpoint, "POST"),
            "/savepoints": (self._savepoint, "POST"),
            "/stop": (self._stop, "POST"),
            "/resource-requirements": (self._rescale, "PUT"),
        }
        own += [Route(f"/jobs/{{job}}{path}", self._reading(answer)) for path, answer in reads.items()]
        own += [Route(f"/jobs/{{job}}{path}", answer, methods=[verb]) for path, (answer, verb) in writes.items()]
        own += [
            Route(f"/jobs/{{job}}/{kind.value}/{{trigger}}", self._asking(kind))
            for kind in (OperationKind.SAVEPOINT, OperationKind.CHECKPOINT, OperationKind.RESCALING)
        ]
        return own

    # --- the driver

    async def _overview(self, request: Request) -> Response:
        return JSONResponse(job_json.cluster_overview(list(self._served.by_id.values())))

    async def _config(self, request: Request) -> Response:
        return JSONResponse(job_json.cluster_config())

    async def _jobs(self, request: Request) -> Response:
        jobs = [{"id": id_, "status": job.view.status().name} for id_, job in self._served.by_id.items()]
        return JSONResponse({"jobs": jobs})

    async def _jobs_overview(self, request: Request) -> Response:
        now_ms = self._served.clock.wall_ms()
        return JSONResponse({"jobs": [job_json.overview(job, now_ms) for job in self._served.by_id.values()]})

    async def _exposition(self, request: Request) -> Response:
        jobs = [metrics_json.metrics_of(job.view) for job in self._served.by_id.values()]
        return Response(exposition(jobs, self._served.clock.wall_ms()), media_type=CONTENT_TYPE)

    # --- a job

    def _job(self, request: Request) -> ServedJob:
        wanted = request.path_params["job"]
        found = self._served.by_id.get(JobId(wanted))
        if found is None:
            raise HTTPException(404, f"this driver runs no job {wanted}: it has ended, or another driver runs it")
        return found

    def _reading(self, answer: Answer) -> Any:
        async def read(request: Request) -> Response:
            asked = Question(
                job=self._job(request),
                now_ms=self._served.clock.wall_ms(),
                path=request.path_params,
                query=dict(request.query_params),
            )
            try:
                return JSONResponse(answer(asked))
            except LookupError as error:
                raise HTTPException(404, str(error.args[0])) from None

        return read

    async def _cancel(self, request: Request) -> Response:
        job = self._job(request)
        mode = request.query_params.get("mode", "cancel")
        if mode != "cancel":
            raise HTTPException(400, f"mode is {mode!r}, but only cancel is known; POST to .../stop stops a job")
        job.view.cancel()
        return JSONResponse({}, 202)

    async def _checkpoint(self, request: Request) -> Response:
        job, body = self._job(request), await _body(request)
        return self._ordered(OperationKind.CHECKPOINT, job, body, lambda: job.view.trigger_checkpoint())

    async def _savepoint(self, request: Request) -> Response:
        job, body = self._job(request), await _body(request)
        target, format_ = _text(body, "target-directory"), _format(body)
        cancels = _flag(body, "cancel-job")

        def order() -> Future[str]:
            future = job.view.trigger_savepoint(target, format_)
            if cancels:
                future.add_done_callback(lambda done: None if done.exception() else job.view.cancel())
            return future

        return self._ordered(OperationKind.SAVEPOINT, job, body, order)

    async def _stop(self, request: Request) -> Response:
        job, body = self._job(request), await _body(request)
        drain, target, format_ = _flag(body, "drain"), _text(body, "targetDirectory"), _format(body)
        return self._ordered(
            OperationKind.SAVEPOINT, job, body, lambda: job.view.stop_with_savepoint(drain, target, format_)
        )

    async def _rescale(self, request: Request) -> Response:
        job, body = self._job(request), await _body(request)
        try:
            bounds = requirements_json.bounds_of(job.view.plan, body)
        except ProgramError as error:
            raise HTTPException(400, str(error)) from None
        operation = self._operations.begin(OperationKind.RESCALING, job.view.job_id, job.view.rescale(bounds))
        return JSONResponse({"request-id": operation})

    def _ordered(self, kind: OperationKind, job: ServedJob, body: Json, order: Any) -> Response:
        """Order what is not ordered yet: a client may send a request again under the same trigger id."""
        given, owner = _text(body, "triggerId"), job.view.job_id
        if given is None or not self._operations.is_known(kind, owner, given):
            try:
                given = self._operations.begin(kind, owner, order(), given)
            except HeadgateError as error:
                raise HTTPException(400, str(error)) from None
        return JSONResponse({"request-id": given}, 202)

    def _asking(self, kind: OperationKind) -> Any:
        async def ask(request: Request) -> Response:
            return self._answer(kind, request.path_params["job"], request)

        return ask

    # --- savepoints of any job

    async def _dispose(self, request: Request) -> Response:
        path = _text(await _body(request), "savepoint-path")
        if path is None:
            raise HTTPException(400, "savepoint-path is missing: the savepoint to delete")
        future = self._disposals.submit(dispose_savepoint, path, FileSystemStore.open_folder)
        return JSONResponse({"request-id": self._operations.begin(OperationKind.DISPOSAL, "", future)}, 202)

    async def _disposal(self, request: Request) -> Response:
        return self._answer(OperationKind.DISPOSAL, "", request)

    def _answer(self, kind: OperationKind, owner: str, request: Request) -> Response:
        trigger = request.path_params["trigger"]
        found = self._operations.answer(kind, owner, trigger)
        if found is None:
            raise HTTPException(404, f"there is no request {trigger}")
        return JSONResponse(found)


# --- requests and answers ---------------------------------------------------------------------------------------


async def _body(request: Request) -> Json:
    """Return the JSON object that came, an empty one if nothing did."""
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_S_MAX):
            async for chunk in request.stream():
                data += chunk
                if len(data) > BODY_BYTES_MAX:
                    raise HTTPException(413, f"the request has more than {BODY_BYTES_MAX} bytes")
    except TimeoutError:
        raise HTTPException(408, f"the request has not come within {BODY_S_MAX:g} s") from None
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):  # brackets in brackets
        found = None
    if not isinstance(found, dict):
        raise HTTPException(400, "the request is no JSON object")
    return found


def _text(body: Json, name: str) -> str | None:
    value = body.get(name)
    if not (value is None or isinstance(value, str)):
        raise HTTPException(400, f"{name} is {value!r}, but must be text")
    if value is not None and _LONE_SURROGATE.search(value):
        raise HTTPException(400, f"{name} is {value!r}, which is no Unicode text")
    return value or None


def _flag(body: Json, name: str) -> bool:
    value = body.get(name)
    if not (value is None or isinstance(value, bool)):
        raise HTTPException(400, f"{name} is {value!r}, but must be true or false")
    return bool(value)


def _format(body: Json) -> SavepointFormat:
    word = _text(body, "formatType") or SavepointFormat.CANONICAL.name
    if word.upper() not in SavepointFormat.__members__:
        raise HTTPException(400, f"formatType is {word!r}, but must be one of {', '.join(SavepointFormat.__members__)}")
    return SavepointFormat[word.upper()]


def _nothing() -> None:
    """Stands for who need not be told."""


def _errors(status: int, message: str) -> Response:
    return JSONResponse({"errors": [message]}, status)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    unknown = error.status_code == 404 and error.detail == "Not Found"
    return _errors(error.status_code, f"there is no path {request.url.path}" if unknown else error.detail)


async def _broken(request: Request, error: Exception) -> Response:
    _log.error("the REST interface could not answer %s %s", request.method, request.url.path, exc_info=error)
    return _errors(500, f"{type(error).__name__}: {error}")
