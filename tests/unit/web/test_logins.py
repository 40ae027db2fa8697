"""Login links and sessions: what begins, lasts, ends and is forgotten."""

from __future__ import annotations

from itertools import count
from urllib.parse import parse_qs, urlsplit

from headgate.clock import SystemClock
from headgate.web.access import PageConfig, RestConfig
from headgate.web.logins import KEPT_MAX, LINK_MS_MAX, SESSION_MS_MAX, Entrance, Grant, Logins, Rights

HOUR_MS = 3_600_000
LOOK = Grant(rights=Rights.READ)


def logins() -> Logins:
    numbers = count(1)
    return Logins(draw=lambda: f"secret {next(numbers)}")


def test_a_link_begins_one_session_with_the_rights_that_it_grants() -> None:
    own = logins()
    link = own.link(LOOK, 0)
    entered = own.enter(link, 1)
    assert entered is not None
    cookie, session = entered
    assert session.grant == LOOK
    assert len({link, cookie, session.csrf}) == 3
    assert own.enter(link, 2) is None
    found = own.session(cookie, 3)
    assert found is not None
    assert found.csrf == session.csrf


def test_links_and_sessions_that_nobody_has_drawn_are_unknown() -> None:
    own = logins()
    link = own.link(Grant(), 0)
    assert own.enter("", 0) is None
    assert own.session(link, 0) is None
    assert own.enter("\ud800", 0) is None


def test_a_link_waits_for_twelve_hours_and_a_session_for_a_day() -> None:
    assert (LINK_MS_MAX, SESSION_MS_MAX) == (12 * HOUR_MS, 24 * HOUR_MS)
    own = logins()
    assert own.enter(own.link(Grant(), 0), LINK_MS_MAX) is not None
    assert own.enter(own.link(Grant(), 0), LINK_MS_MAX + 1) is None


def test_a_session_lasts_while_it_is_used() -> None:
    own = logins()
    entered = own.enter(own.link(Grant(), 0), 0)
    assert entered is not None
    cookie = entered[0]
    assert own.session(cookie, SESSION_MS_MAX) is not None
    assert own.session(cookie, SESSION_MS_MAX * 2) is not None
    assert own.session(cookie, SESSION_MS_MAX * 3 + 1) is None
    assert own.session(cookie, SESSION_MS_MAX * 3 + 2) is None


def test_who_leaves_is_unknown_afterwards() -> None:
    own = logins()
    entered = own.enter(own.link(Grant(), 0), 0)
    assert entered is not None
    own.leave(entered[0])
    own.leave("never there")
    assert own.session(entered[0], 1) is None


def test_only_the_latest_links_and_sessions_are_kept() -> None:
    own = logins()
    links = [own.link(Grant(), 0) for _ in range(KEPT_MAX + 1)]
    assert own.enter(links[0], 0) is None
    first = own.enter(links[1], 0)
    assert first is not None
    for _ in range(KEPT_MAX):
        own.enter(own.link(Grant(), 0), 0)
    assert own.session(first[0], 0) is None


def test_a_session_in_use_is_kept_while_others_come() -> None:
    own = logins()
    entered = own.enter(own.link(Grant(), 0), 0)
    assert entered is not None
    for _ in range(KEPT_MAX * 2):
        own.enter(own.link(Grant(), 0), 0)
        assert own.session(entered[0], 0) is not None


def test_over_tls_and_in_frames_browsers_send_the_cookie_encrypted_only() -> None:
    plain, tls = (Entrance(token="", config=RestConfig(cert=cert), port=1) for cert in (None, "cert.pem"))
    found = [entrance.set_cookie("x", Grant(framed=framed)) for entrance in (plain, tls) for framed in (False, True)]
    assert ["; Secure" in cookie for cookie in found] == [False, True, True, True]


def test_a_server_that_is_read_only_has_links_for_frames_too() -> None:
    entrance = Entrance(token="", config=RestConfig(page=PageConfig(read_only=True)), port=1)
    for framed in (False, True):
        link = parse_qs(urlsplit(entrance.login_path("x", Grant(framed=framed))).query)["link"][0]
        entered = entrance.logins.enter(link, SystemClock().monotonic_ms())
        assert entered is not None
        assert entered[1].grant == Grant(rights=Rights.READ, framed=framed)
