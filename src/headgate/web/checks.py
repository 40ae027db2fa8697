"""Checks of every request: no page of another site sends it, its sender has the rights for it, and it names no server.

A sender must not make the driver connect to an arbitrary server.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Iterable, Mapping
from typing import Final, final

from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate import options
from headgate.checkpoint.file_store import without_secret
from headgate.clock import SystemClock
from headgate.config import Settings
from headgate.options import CHECKPOINT_DIR, RECOVERY_PATH, SAVEPOINT_DIR, STORAGE_DIR
from headgate.web.access import RestConfig
from headgate.web.answers import errors
from headgate.web.logins import IDENTITY, Entrance, Identity, Rights, Session

_ALWAYS: Final = ("localhost",)
PROVEN: Final = "proven"
"""Key in the ASGI scope of a callback, called with the session cookie, if any, of each authenticated request."""
CSRF_HEADER: Final = b"x-csrf-token"
_OWN_SITES: Final = (b"same-origin", b"none")
_METRICS: Final = ("/metrics", "/v1/metrics")
_OPEN_TO_ALL: Final = ("/", "/login")
_READING: Final = ("GET", "HEAD")
SESSION_PATH: Final = "/session"
_LOCATIONS: Final = (CHECKPOINT_DIR, STORAGE_DIR, SAVEPOINT_DIR, RECOVERY_PATH)
_BUCKETS: Final = ("s3", "gs", "gcs")
"""Schemes whose URIs name a bucket in the place of a host."""


def own_names(config: RestConfig) -> frozenset[str]:
    """Return the host names under which clients may reach the server.

    IP addresses are always accepted: DNS rebinding cannot use them.
    """
    machine = socket.gethostname()
    return frozenset(map(_plain, (*_ALWAYS, config.address, config.bind_address, machine, machine.partition(".")[0])))


def foreign(headers: Mapping[bytes, bytes], names: frozenset[str]) -> tuple[int, str] | None:
    """Return the status and the reason to refuse a request with these headers; None if it may be answered."""
    host = headers.get(b"host", b"").decode("latin-1")
    if not _is_ours(_plain(host), names):
        return 421, (
            f"this server does not answer to the host name {_name(host)!r}: use "
            f"{', '.join(sorted(filter(None, names)))} "
            f"or its IP address, or set {options.REST_ADDRESS.key} to that name"
        )
    origin = headers.get(b"origin")
    if origin is not None and _plain(origin.decode("latin-1").partition("://")[2]) != _plain(host):
        return 403, f"a page of {origin.decode('latin-1')!r} may not send requests to this server, {host!r}"
    return None


def _is_ours(host: str, names: frozenset[str]) -> bool:
    name = _name(host)
    if name in names:
        return name != ""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _plain(host: str) -> str:
    return host.strip().lower()


def _name(host: str) -> str:
    """Return a host without its port."""
    name, _, port = host.rpartition(":")
    return (name if port.isdecimal() else host).rstrip(".")


@final
class OriginCheck:
    """Refuses requests that a page of another site makes a browser send."""

    def __init__(self, app: ASGIApp, config: RestConfig) -> None:
        self._app = app
        self._names = own_names(config)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = foreign(dict(scope["headers"]), self._names)
        await (self._app if refusal is None else errors(*refusal))(scope, receive, send)


@final
class IdentityCheck:
    """Answers 401 to requests without the token and without a session, 403 to orders that the session may not give.

    Comparing the token takes the same time for every wrong token. The files of the page need no authentication: they
    contain no secret and no data of a job.
    """

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app = app
        self._wanted = f"Bearer {entrance.token}".encode()
        self._entrance = entrance
        self._has_page = entrance.config.page.enabled
        self._clock = SystemClock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        who = self._identity(headers)
        if who is not None:
            scope["state"].get(PROVEN, _nothing)(who.cookie)
            scope["state"][IDENTITY] = who
        elif not self._is_open(scope["path"]):
            refusal = errors(401, "the driver's token is needed: `Authorization: Bearer <token>`; `headgate` finds it")
            refusal.headers["WWW-Authenticate"] = "Bearer"
            await refusal(scope, receive, send)
            return
        forbidden = None if who is None else _forbidden(who, scope, headers)
        await (self._app if forbidden is None else errors(403, forbidden))(scope, receive, send)

    def _identity(self, headers: Mapping[bytes, bytes]) -> Identity | None:
        if hmac.compare_digest(headers.get(b"authorization", b""), self._wanted):
            return Identity(rights=Rights.ACT)
        if not self._has_page or headers.get(b"sec-fetch-site", b"none") not in _OWN_SITES:
            return None
        cookie = cookie_parser(headers.get(b"cookie", b"").decode("latin-1")).get(self._entrance.cookie_name)
        session = None if cookie is None else self._session(cookie)
        if cookie is None or session is None:
            return None
        rights = session.grant.rights
        return Identity(rights=rights, cookie=cookie, session=session, stays=lambda: self._session(cookie) is not None)

    def _session(self, cookie: str) -> Session | None:
        return self._entrance.logins.session(cookie, self._clock.monotonic_ms())

    def _is_open(self, path: str) -> bool:
        if self._has_page and (path in _OPEN_TO_ALL or path.startswith("/static/")):
            return True
        return self._entrance.config.open_metrics and path in _METRICS


def _forbidden(who: Identity, scope: Scope, headers: Mapping[bytes, bytes]) -> str | None:
    if who.session is None or scope["method"] in _READING:
        return None
    if not hmac.compare_digest(headers.get(CSRF_HEADER, b""), who.session.csrf.encode()):
        return "an order from a browser needs the X-CSRF-Token that GET /session returns"
    if who.rights is Rights.READ and scope["path"] != SESSION_PATH:
        return "this session may only read: to do more, log in with a link that `headgate ui` makes"
    return None


def _nothing(session: str | None) -> None:
    """Do nothing: the default callback."""


def check_reach(location: str | None, jobs: Iterable[Settings]) -> None:
    """Check that `location` is local, in a public cloud, or on storage that one of the jobs is configured to use.

    Raises HTTPException for any other server, and for parameters or credentials that no job is configured to use.
    """
    if location is None:
        return
    server = _server(location)
    if server is None or server in {(scheme, "", "", "") for scheme in _BUCKETS}:
        return
    if server not in {_server(known) for job in jobs for option in _LOCATIONS if (known := job.get(option))}:
        raise HTTPException(
            400,
            f"{without_secret(location)} is on a server, or has parameters, that the job is not configured with. Set "
            f"{SAVEPOINT_DIR.key} to a folder there with the same parameters before the job starts, or use `headgate "
            "savepoint -d` on a machine that reaches it to delete a savepoint",
        )


def _server(location: str) -> tuple[str, str, str, str] | None:
    """Return the parts that determine the server and the credentials, None for a local path.

    >>> _server("s3://key:secret@bucket/a?endpoint_override=minio:9000"), _server("hdfs://namenode:8020/a")
    (('s3', 'key:secret', '', 'endpoint_override=minio:9000'), ('hdfs', '', 'namenode:8020', ''))
    """
    scheme, separator, rest = location.partition("://")
    if not separator or scheme == "file":
        return None
    before, _, parameters = rest.replace("#", "?", 1).partition("?")
    user, _, host = before.partition("/")[0].rpartition("@")
    return scheme, user, "" if scheme in _BUCKETS else host, parameters
