"""The paths that only the page needs: its files, login and logout, and its events."""

from __future__ import annotations

from pathlib import Path
from typing import Final, final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from headgate import __version__
from headgate.clock import SystemClock
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.answers import PRIVATE, JsonAnswer
from headgate.web.checks import SESSION_PATH
from headgate.web.logins import IDENTITY, Entrance, Grant, Identity, Rights
from headgate.web.page import vertex_json
from headgate.web.page.history import Histories
from headgate.web.page.live import LiveOverviews
from headgate.web.question import Answer, Question
from headgate.web.requests import ServedJobs, body_of, flag_of, job_of, reading, text_of

FOLDER: Final = Path(__file__).parents[1] / "static"
_KINDS: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
_THIS_MACHINE: Final = ("http://localhost:*", "http://127.0.0.1:*", "https://localhost:*")


@final
class PageFiles:
    """Serves the files below `static/`, with a policy that forbids them to load anything from other servers."""

    def __init__(self, frame_ancestors: tuple[str, ...]) -> None:
        self._files = {
            str(path.relative_to(FOLDER)): (path.read_bytes(), _KINDS[path.suffix])
            for path in FOLDER.rglob("*")
            if path.suffix in _KINDS
        }
        sites = " ".join(frame_ancestors or _THIS_MACHINE)
        self._headers = {
            "Content-Security-Policy": (
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                f"base-uri 'none'; form-action 'none'; frame-ancestors 'self' {sites}"
            ),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
        }

    def answer(self, name: str) -> Response:
        """Return the file with this path below the folder. Raises HTTPException if it does not exist."""
        found = self._files.get(name)
        if found is None:
            raise HTTPException(404, f"the page has no file {name}")
        content, kind = found
        return Response(content, headers=self._headers, media_type=kind)


@final
class PagePaths:
    """The endpoints of the page's paths. They run on the server's loop, so nothing may block."""

    def __init__(self, served: ServedJobs, entrance: Entrance, histories: Histories) -> None:
        self._served = served
        self._entrance = entrance
        self._histories = histories
        self._files = PageFiles(entrance.config.page.frame_ancestors)
        self._live = LiveOverviews(served, histories)
        self._clock = SystemClock()

    def routes(self) -> list[BaseRoute]:
        """Return the routes, each with its endpoint."""
        reads: dict[str, Answer] = {
            "/overview": self._live.now,
            "/vertices/{vertex}/history": self._history,
            "/vertices/{vertex}/subtasks": vertex_json.subtasks,
            "/vertices/{vertex}/user-metrics": vertex_json.user_metrics,
        }
        return [
            Route("/", self._index),
            Route("/static/{name:path}", self._file),
            Route("/login", self._login),
            Route("/login-links", self._link, methods=["POST"]),
            Route(SESSION_PATH, self._session),
            Route(SESSION_PATH, self._logout, methods=["DELETE"]),
            Route("/jobs/{job}/live", self._events),
            *(Route(f"/jobs/{{job}}{path}", reading(self._served, answer)) for path, answer in reads.items()),
        ]

    async def _index(self, request: Request) -> Response:
        return self._files.answer("index.html")

    async def _file(self, request: Request) -> Response:
        return self._files.answer(request.path_params["name"])

    async def _login(self, request: Request) -> Response:
        """Begin a session with an unused link. Without a session, the page itself says how to log in."""
        job, link = request.query_params.get("job", ""), request.query_params.get("link", "")
        headers = PRIVATE | {"Referrer-Policy": "no-referrer"}
        answer = RedirectResponse(f"/#/jobs/{quote(job, safe='')}" if job else "/", 303, headers)
        # HEAD does not use up the link: terminals send it to make a preview of a link.
        looks = request.method == "HEAD"
        entered = None if looks else self._entrance.logins.enter(link, self._clock.monotonic_ms())
        if entered is not None:
            cookie, session = entered
            answer.headers["Set-Cookie"] = self._entrance.set_cookie(cookie, session.grant)
        return answer

    async def _link(self, request: Request) -> Response:
        """Make a login link, for `headgate ui` and for sessions that may give orders."""
        body = await body_of(request)
        rights = Rights.READ if flag_of(body, "readOnly") else Rights.ACT
        grant = Grant(rights=rights, framed=flag_of(body, "framed"))
        return JsonAnswer({"path": self._entrance.login_path(text_of(body, "job") or "", grant)})

    async def _session(self, request: Request) -> Response:
        who: Identity = getattr(request.state, IDENTITY)
        return JsonAnswer(
            {
                "rights": who.rights.value,
                "csrf": None if who.session is None else who.session.csrf,
                "version": __version__,
            }
        )

    async def _logout(self, request: Request) -> Response:
        who: Identity = getattr(request.state, IDENTITY)
        if who.cookie is not None:
            self._entrance.logins.leave(who.cookie)
        return JsonAnswer({})

    def _history(self, asked: Question) -> Json:
        return self._histories.of(asked.job).curves(asked.vertex().id)

    async def _events(self, request: Request) -> Response:
        return self._live.stream(job_of(self._served, request), request)
