"""Authentication: a program shows the driver's token; a browser begins a session with a login link.

A link can be used once, by one browser: a copy in a terminal's history or a notebook's file is worthless afterwards.
A cookie proves the session. Orders also need a second secret (against CSRF), which only a page of this server can
read. Secrets are stored and looked up as hashes, so that the time of a comparison reveals nothing about a secret.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, final
from urllib.parse import urlencode

from headgate.clock import SystemClock
from headgate.web.access import RestConfig

LINK_MS_MAX: Final = 12 * 3600 * 1000
"""Milliseconds after which an unused link expires."""
SESSION_MS_MAX: Final = 24 * 3600 * 1000
"""Milliseconds after its last request at which a session expires."""
IDENTITY: Final = "identity"
"""Key in the state of a request: the `Identity` of the sender."""
KEPT_MAX: Final = 100
"""The largest number of links, and of sessions, that are kept; the oldest are deleted first."""


@final
class Rights(Enum):
    """What a session may do: read, or also give orders."""

    READ = "read"
    ACT = "act"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a login link grants. A framed session runs in a frame of another site's page, such as a notebook."""

    rights: Rights = Rights.ACT
    framed: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The session of a browser. Each order must send `csrf` in a header. Times are monotonic."""

    grant: Grant
    csrf: str
    expires_ms: float


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
class Logins:
    """The links and sessions of a server. May be called from any thread. `now_ms` is monotonic."""

    def __init__(self, draw: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> None:
        self._draw = draw
        self._lock = threading.Lock()
        self._links: OrderedDict[bytes, tuple[Grant, float]] = OrderedDict()
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def link(self, grant: Grant, now_ms: float) -> str:
        """Return a new secret, with which one session with these rights can be begun."""
        secret = self._draw()
        with self._lock:
            self._links[_hash(secret)] = (grant, now_ms + LINK_MS_MAX)
            _bound(self._links)
        return secret

    def enter(self, link: str, now_ms: float) -> tuple[str, Session] | None:
        """Use up a link. Return the cookie's value and the new session, None if the link is unknown or expired."""
        with self._lock:
            granted, expires_ms = self._links.pop(_hash(link), (None, 0.0))
            if granted is None or expires_ms < now_ms:
                return None
            cookie = self._draw()
            session = Session(grant=granted, csrf=self._draw(), expires_ms=now_ms + SESSION_MS_MAX)
            self._sessions[_hash(cookie)] = session
            _bound(self._sessions)
            return cookie, session

    def session(self, cookie: str, now_ms: float) -> Session | None:
        """Extend and return the session of a cookie, None if the session is unknown or expired."""
        key = _hash(cookie)
        with self._lock:
            found = self._sessions.pop(key, None)
            if found is None or found.expires_ms < now_ms:
                return None
            self._sessions[key] = found = replace(found, expires_ms=now_ms + SESSION_MS_MAX)
            return found

    def leave(self, cookie: str) -> None:
        """End the session of a cookie, if it exists."""
        with self._lock:
            self._sessions.pop(_hash(cookie), None)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _bound(kept: OrderedDict[bytes, tuple[Grant, float]] | OrderedDict[bytes, Session]) -> None:
    while len(kept) > KEPT_MAX:
        kept.popitem(last=False)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """The credentials that a server accepts. `port` is the port on which the server listens."""

    token: str
    config: RestConfig
    port: int
    logins: Logins = field(default_factory=Logins)

    @property
    def cookie_name(self) -> str:
        """The name of a session's cookie, with the port: browsers send a cookie to all ports of its host."""
        return f"headgate-{self.port}"

    def set_cookie(self, value: str, grant: Grant) -> str:
        """Return the Set-Cookie header of a new session. Scripts cannot read the cookie; other sites cannot send it.

        In a frame of another site a browser only sends a cookie that is partitioned by that site (CHIPS).
        """
        secure = "; Secure" if grant.framed or self.config.cert is not None else ""
        scope = "SameSite=None; Partitioned" if grant.framed else "SameSite=Strict"
        return f"{self.cookie_name}={value}; Path=/; HttpOnly; {scope}{secure}"

    def login_path(self, job_id: str, grant: Grant) -> str:
        """Return the path of a new login link that shows the job. A read-only server only grants the right to read."""
        granted = Grant(rights=Rights.READ, framed=grant.framed) if self.config.page.read_only else grant
        link = self.logins.link(granted, SystemClock().monotonic_ms())
        return f"/login?{urlencode({'link': link, 'job': job_id})}"
