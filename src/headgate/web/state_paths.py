"""The paths that show the state of a job. One thread reads the snapshots, for a bounded time per request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar, final
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from headgate import options
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.restore.snapshots import is_snapshot
from headgate.clock import SystemClock
from headgate.errors import HeadgateError, RestoreError, StorageError
from headgate.snapshots.browser import SnapshotBrowser
from headgate.snapshots.key_text import KeyText
from headgate.snapshots.rows import RowQuery
from headgate.web import state_json
from headgate.web.answers import JsonAnswer
from headgate.web.question import ServedJob, whole_number
from headgate.web.requests import ServedJobs, job_of, of_records, reading
from headgate.web.state_json import LATEST, KnownSnapshot

T = TypeVar("T")

ROWS_MAX: Final = 200
ROWS_DEFAULT: Final = 50
LOOK_MS: Final = 4_000.0
"""Milliseconds for which rows are searched."""
COUNT_MS: Final = 1_000.0
"""Milliseconds for which entries are counted and measured."""
ANSWER_S_MAX: Final = 8.0
READINGS_MAX: Final = 4
"""The largest number of requests that read or wait to read."""
_TRIES_MAX: Final = 3
"""How often the newest checkpoint is tried: the job may delete a checkpoint while it is read."""


@final
class StatePaths:
    """The endpoints of the paths. They run on the server's loop, so nothing may block."""

    def __init__(self, served: ServedJobs) -> None:
        self._served = served
        self._readings = _Readings()

    def routes(self) -> list[BaseRoute]:
        """Return the routes, each with its endpoint."""
        return [
            Route("/jobs/{job}/state/snapshots", reading(self._served, state_json.snapshots)),
            Route("/jobs/{job}/state", self._overview),
            Route("/jobs/{job}/state/{state:path}", of_records(self._rows)),
        ]

    async def _overview(self, request: Request) -> Response:
        uids = request.query_params.getlist("uid") or None

        def read(snapshot: KnownSnapshot, browser: SnapshotBrowser, began_ms: float) -> Any:
            return state_json.overview(snapshot, browser.operators(began_ms + COUNT_MS, uids))

        return await self._read(request, read)

    async def _rows(self, request: Request) -> Response:
        state = _state(request)
        key = request.query_params.get("key")
        offset, limit = _number(request, "offset", 0), _number(request, "limit", ROWS_DEFAULT)

        def read(snapshot: KnownSnapshot, browser: SnapshotBrowser, began_ms: float) -> Any:
            query = RowQuery(
                key=None if key is None else KeyText(key),
                offset=offset,
                limit=min(limit, ROWS_MAX),
                until_ms=began_ms + LOOK_MS,
            )
            return state_json.rows(snapshot, state, offset, browser.rows(*state, query))

        return await self._read(request, read)

    async def _read(self, request: Request, read: Callable[[KnownSnapshot, SnapshotBrowser, float], Any]) -> Response:
        job = job_of(self._served, request)
        wanted = request.query_params.get("snapshot", LATEST)
        try:
            return JsonAnswer(await self._readings.run(lambda began_ms: _reading(job, wanted, began_ms, read)))
        except LookupError as error:
            raise HTTPException(404, str(error.args[0])) from None
        except SnapshotGoneError as error:
            raise HTTPException(410, str(error)) from None
        except HeadgateError as error:
            raise HTTPException(422, str(error)) from None


class SnapshotGoneError(HeadgateError):
    """The snapshot was deleted before it was read."""


def _reading(
    job: ServedJob, wanted: str, began_ms: float, read: Callable[[KnownSnapshot, SnapshotBrowser, float], Any]
) -> Any:
    for tries in range(1, _TRIES_MAX + 1):
        snapshot = state_json.known_snapshot(job, wanted)
        try:
            with SnapshotBrowser(snapshot.location, job.view.plan.settings.get(options.MOVED_CLASSES)) as browser:
                return read(snapshot, browser, began_ms)
        except (RestoreError, StorageError) as error:
            if _is_there(snapshot):
                raise
            if wanted == LATEST and tries < _TRIES_MAX:
                continue
            raise SnapshotGoneError(
                f"snapshot {snapshot.id} was deleted before it was read: the job keeps its newest "
                f"{job.view.plan.settings.get(options.CHECKPOINTS_RETAINED)} checkpoints "
                f"({options.CHECKPOINTS_RETAINED.key}). Try again, or look at a savepoint, which no job deletes. "
                f"({error})"
            ) from error
    raise AssertionError("the last try returns or raises")


def _is_there(snapshot: KnownSnapshot) -> bool:
    try:
        return is_snapshot(snapshot.location, FileSystemStore.open_folder)
    except StorageError:
        return True  # the first error of the storage says more


def _state(request: Request) -> tuple[str, str]:
    """Return the uid and the name in the path. Either may contain slashes, encoded as %2F."""
    place, name = request.scope["raw_path"].decode("latin-1").split("/")[-2:]
    if len(request.path_params["state"].split("/")) < 2:
        raise HTTPException(404, f"there is no path {request.url.path}: give .../state/<uid>/<name>")
    return unquote(place), unquote(name)


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    found = default if text is None else whole_number(text)
    if found is None or (name == "limit" and found < 1):
        raise HTTPException(400, f"{name} is {text!r}, but must be a whole number")
    return found


@final
class _Readings:
    """Runs reads one after the other, on a separate thread."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "headgate-rest-state")
        self._room = threading.Semaphore(READINGS_MAX)
        self._clock = SystemClock()

    async def run(self, work: Callable[[float], T]) -> T:
        """Return the result of `work`, called with its start time in ms. Raises HTTPException if it takes too long."""
        if not self._room.acquire(blocking=False):
            raise HTTPException(503, f"{READINGS_MAX} other requests are reading state: try again")
        future = self._thread.submit(lambda: work(self._clock.monotonic_ms()))
        future.add_done_callback(lambda _: self._room.release())
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise HTTPException(
                503,
                f"the state was not read within {ANSWER_S_MAX:g} s: its storage is slow, or other requests are "
                "reading; try again",
            ) from None
