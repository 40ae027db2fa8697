"""How a browser or a program comes in: by the driver's token, or by a login link and the session that it begins.

A link is good for one browser, once: what it leaves in a terminal's history or in a notebook's file is worth nothing
afterwards. The session that follows is proven by a cookie, and orders in it also by a second secret (against CSRF) that
only a page of this server can read. Secrets are kept and looked up as hashes, so that no time tells a part of one.
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
"""How long a link may wait for its browser."""
SESSION_MS_MAX: Final = 24 * 3600 * 1000
"""How long a session outlives its last request."""
KEPT_MAX: Final = 100
"""Links, and sessions, that are kept, the latest."""


@final
class Rights(Enum):
    """What one may do: look, or also give orders."""

    READ = "read"
    ACT = "act"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a login link grants. One for a frame is used in a page of another site, such as a notebook."""

    rights: Rights = Rights.ACT
    framed: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The session of a browser. `csrf` has to come with each order, in a header. Times are monotonic."""

    grant: Grant
    csrf: str
    expires_ms: float


@final
class Logins:
    """The links and sessions of a server. May be called from any thread. `now_ms` is monotonic."""

    def __init__(self, draw: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> None:
        self._draw = draw
        self._lock = threading.Lock()
        self._links: OrderedDict[bytes, tuple[Grant, float]] = OrderedDict()
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def link(self, grant: Grant, now_ms: float) -> str:
        """Return a new secret that begins one session with the rights granted."""
        secret = self._draw()
        with self._lock:
            self._links[_hash(secret)] = (grant, now_ms + LINK_MS_MAX)
            _bound(self._links)
        return secret

    def enter(self, link: str, now_ms: float) -> tuple[str, Session] | None:
        """Use up a link; return the cookie's value and the session, None if there is no such link, or not any more."""
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
        """Return the session of a cookie, which lives on from now, None if there is none, or not any more."""
        key = _hash(cookie)
        with self._lock:
            found = self._sessions.pop(key, None)
            if found is None or found.expires_ms < now_ms:
                return None
            self._sessions[key] = found = replace(found, expires_ms=now_ms + SESSION_MS_MAX)
            return found

    def leave(self, cookie: str) -> None:
        """End the session of a cookie, if there is one."""
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
    """What a server lets in. `port` is the one that it listens on."""

    token: str
    config: RestConfig
    port: int
    logins: Logins = field(default_factory=Logins)

    @property
    def cookie_name(self) -> str:
        """The name of a session's cookie. Browsers do not tell ports apart, so each driver has a name of its own."""
        return f"headgate-{self.port}"

    def set_cookie(self, value: str, grant: Grant) -> str:
        """Return the Set-Cookie header of a new session: no script reads it, no request of another site has it.

        In a frame of another site a browser sends a cookie only if it is kept apart for that site (CHIPS).
        """
        secure = "; Secure" if grant.framed or self.config.cert is not None else ""
        scope = "SameSite=None; Partitioned" if grant.framed else "SameSite=Strict"
        return f"{self.cookie_name}={value}; Path=/; HttpOnly; {scope}{secure}"

    def login_path(self, job_id: str, grant: Grant) -> str:
        """Return the path of a new login link, which shows the job. A server that is read-only grants no more."""
        granted = Grant(rights=Rights.READ, framed=grant.framed) if self.config.page.read_only else grant
        link = self.logins.link(granted, SystemClock().monotonic_ms())
        return f"/login?{urlencode({'link': link, 'job': job_id})}"
