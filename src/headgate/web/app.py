"""The web application of a driver: the REST interface, with Flink's paths, and the page."""

from __future__ import annotations

import logging
from typing import final

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from headgate.web.acceptor import Visit
from headgate.web.answers import broken, refused
from headgate.web.checks import PROVEN, IdentityCheck, OriginCheck
from headgate.web.logins import Entrance
from headgate.web.output_paths import OutputPaths
from headgate.web.page.history import Histories
from headgate.web.page.paths import PagePaths
from headgate.web.paths import RestPaths
from headgate.web.requests import ServedJobs
from headgate.web.state_paths import StatePaths

# uvicorn warns of each invalid request, so strangers could fill the log.
_errors_only = logging.getLogger("headgate.web.http")
_errors_only.setLevel(logging.ERROR)


@final
class VisitProtocol(H11Protocol):
    """The HTTP protocol of one connection; reports its progress to the connection's visit."""

    def __init__(self, config: uvicorn.Config, server_state: ServerState, visit: Visit) -> None:
        super().__init__(config, server_state, {PROVEN: visit.prove})
        self.logger = _errors_only
        self._visit = visit

    def on_response_complete(self) -> None:
        if not self.flow.write_paused:
            self._visit.expect_request()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._visit.expect_taking()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._visit.has_taken()
        if self.cycle.response_complete:
            self._visit.expect_request()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP.

        After a request, hang up instead: that request has been answered, or is about to be.
        """
        if self.conn.our_state is h11.IDLE:
            super().send_400_response(msg)
        else:
            self._visit.hang_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self._visit.end()
        super().connection_lost(exc)


def application(jobs: ServedJobs, entrance: Entrance, histories: Histories) -> Starlette:
    """Return the application that serves the jobs and their page to authenticated clients.

    The paths of the REST interface work with and without the prefix /v1.
    """
    routes = [*RestPaths(jobs).routes(), *StatePaths(jobs).routes(), *OutputPaths(jobs).routes()]
    page = PagePaths(jobs, entrance, histories).routes() if entrance.config.page.enabled else []
    app = Starlette(
        routes=[*page, *routes, Mount("/v1", routes=routes)],
        middleware=[
            Middleware(OriginCheck, config=entrance.config),
            Middleware(IdentityCheck, entrance=entrance),
        ],
        exception_handlers={HTTPException: refused, Exception: broken},
    )
    app.router.redirect_slashes = False
    return app
