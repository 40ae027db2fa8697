"""The application that answers for the jobs of a driver: the REST interface, with Flink's paths, and the page."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount

from headgate.web.checks import IdentityCheck, OriginCheck
from headgate.web.entrance import Entrance
from headgate.web.errors_json import broken, refused
from headgate.web.output_paths import OutputPaths
from headgate.web.page.history import Histories
from headgate.web.page.paths import PagePaths
from headgate.web.paths import RestPaths
from headgate.web.served_jobs import ServedJobs
from headgate.web.state_paths import StatePaths


def application(jobs: ServedJobs, entrance: Entrance, histories: Histories) -> Starlette:
    """Return what answers for the jobs, with or without the prefix /v1, and serves their page, to who may come in."""
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
