"""Checks of every request: no page of another site sends it, and its sender has the rights for it."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate import options
from headgate.clock import SystemClock
from headgate.web.access import RestConfig
from headgate.web.json_answer import errors
from headgate.web.logins import Entrance, Rights, Session

_ALWAYS: Final = ("localhost",)


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


PROVEN: Final = "proven"
"""Key in the ASGI scope of a callback, called with the session cookie, if any, of each authenticated request."""
IDENTITY: Final = "identity"
CSRF_HEADER: Final = b"x-csrf-token"
_OWN_SITES: Final = (b"same-origin", b"none")
_METRICS: Final = ("/metrics", "/v1/metrics")
_OPEN_TO_ALL: Final = ("/", "/login")
_READING: Final = ("GET", "HEAD")
SESSION_PATH: Final = "/session"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The sender of a request: a program with the driver's token, or a browser with a session.

    `stays` returns whether the session still exists.
    """

    rights: Rights
    cookie: str | None = None
    session: Session | None = None
    stays: Callable[[], bool] = lambda: True


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
