"""How one comes in: by the driver's token, or by a login link and the session of a browser that it begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final
from urllib.parse import urlencode

from headgate.clock import SystemClock
from headgate.web.access import RestConfig
from headgate.web.logins import Grant, Logins, Rights


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
