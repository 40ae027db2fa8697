"""The page's own paths: who comes in, what the browser is told of it, and what the page is made of."""

from __future__ import annotations

import json
import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from headgate.errors import ConfigError
from headgate.web.page.paths import FOLDER
from tests.unit.datastream.environments import environment, numbers
from tests.unit.web.served import Served, served


@pytest.fixture(scope="module")
def job() -> Iterator[Served]:
    """One job for all tests that only look."""
    with served() as found:
        yield found


@contextmanager
def entered(job: Served, **grant: bool) -> Iterator[tuple[httpx.Client, httpx.Response]]:
    """A browser that has used a new link, and what it was answered."""
    link = job.http.post("/login-links", json={"job": job.job.job_id, **grant}).json()["path"]
    with httpx.Client(base_url=job.address.url, verify=False) as browser:
        yield browser, browser.get(link)


def test_a_link_leads_to_the_job_and_sets_a_cookie_for_this_server_alone(job: Served) -> None:
    with entered(job) as (browser, answer):
        assert answer.status_code == 303
        assert answer.headers["Location"] == f"/#/jobs/{job.job.job_id}"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith(f"headgate-{job.address.url.rpartition(':')[2]}=")
        assert "HttpOnly; SameSite=Strict" in cookie
        session = browser.get("/session")
        assert (session.json()["rights"], session.headers["Cache-Control"]) == ("act", "no-store")
        assert browser.get(f"/jobs/{job.job.job_id}").status_code == 200


def test_a_link_leads_nowhere_else_whatever_job_it_names(job: Served) -> None:
    answer = httpx.get(job.address.url + "/login", params={"job": "//evil.example/?#\r\nX: y"}, verify=False)
    assert answer.headers["Location"] == "/#/jobs/%2F%2Fevil.example%2F%3F%23%0D%0AX%3A%20y"


def test_in_a_frame_the_cookie_is_kept_apart_for_the_site_around_it(job: Served) -> None:
    with entered(job, framed=True) as (_, answer):
        assert answer.headers["Set-Cookie"].endswith("SameSite=None; Partitioned; Secure")


def test_a_used_link_leads_to_the_page_without_a_session(job: Served) -> None:
    link = job.http.post("/login-links", json={"job": "x"}).json()["path"]
    assert "Set-Cookie" in httpx.get(job.address.url + link, verify=False).headers
    again = httpx.get(job.address.url + link, verify=False)
    assert (again.status_code, "Set-Cookie" in again.headers) == (303, False)


def test_a_request_of_another_site_has_no_session(job: Served) -> None:
    with entered(job) as (browser, _):
        for site, status in (("same-origin", 200), ("none", 200), ("cross-site", 401), ("same-site", 401)):
            assert browser.get("/jobs", headers={"Sec-Fetch-Site": site}).status_code == status


@pytest.mark.slow
@pytest.mark.parametrize("other", ['theirs={"a": "b, c"}', "a[b]=c d", "nothing", '="', "headgate-1=x"])
def test_cookies_of_other_servers_of_this_host_are_let_be(job: Served, other: str) -> None:
    with entered(job) as (_, answer):
        own = answer.headers["Set-Cookie"].partition(";")[0]
    for cookies in (f"{other}; {own}", f"{own}; {other}"):
        assert httpx.get(f"{job.address.url}/session", headers={"Cookie": cookies}, verify=False).status_code == 200


def test_orders_need_the_csrf_token_and_rights(job: Served) -> None:
    path = f"/jobs/{job.job.job_id}/checkpoints"
    for read_only, allowed in ((False, True), (True, False)):
        with entered(job, readOnly=read_only) as (browser, _):
            csrf = browser.get("/session").json()["csrf"]
            assert browser.post(path).status_code == 403
            assert browser.post(path, headers={"X-CSRF-Token": "wrong"}).status_code == 403
            ordered = browser.post(path, headers={"X-CSRF-Token": csrf})
            assert ordered.is_success is allowed
            if allowed:
                assert job.outcome(f"{path}/{ordered.json()['request-id']}")
            assert browser.post("/login-links", headers={"X-CSRF-Token": csrf}).is_success is allowed


def test_who_logs_out_is_out(job: Served) -> None:
    with entered(job, readOnly=True) as (browser, _):
        csrf = browser.get("/session").json()["csrf"]
        assert browser.delete("/session", headers={"X-CSRF-Token": csrf}).is_success
        assert browser.get("/session").status_code == 401


@pytest.mark.slow
def test_a_server_that_is_read_only_gives_no_rights_to_act() -> None:
    with served(**{"headgate.web.read-only": "true"}) as own:
        link = own.http.post("/login-links", json={"job": own.job.job_id}).json()["path"]
        with httpx.Client(base_url=own.address.url, verify=False) as browser:
            browser.get(link)
            assert browser.get("/session").json()["rights"] == "read"
        assert own.http.post("/jobs/" + own.job.job_id + "/checkpoints").is_success


@pytest.mark.slow
def test_without_the_page_there_is_none(capfd: pytest.CaptureFixture[str]) -> None:
    with served(**{"headgate.web.enabled": "false"}) as own:
        for path in ("/", "/login", "/static/index.html"):
            assert httpx.get(own.address.url + path, verify=False).status_code == 401
        assert own.http.get("/session").status_code == 404
        assert own.job.page_address(framed=False) is None
    assert "the page of job" not in capfd.readouterr().err


def test_a_terminal_is_told_an_address_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as stderr, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stderr)
        with served() as own:
            printed = os.read(screen, 10_000).decode()
            assert f"`headgate ui {own.job.job_id}`" in printed
            address = next(word for word in printed.split() if "/login?link=" in word)
            assert "Set-Cookie" in httpx.get(address, verify=False).headers
        assert own.job.page_address(framed=False) is None
    os.close(screen)


def test_a_log_is_told_the_command_and_no_link(capfd: pytest.CaptureFixture[str]) -> None:
    with served() as own:
        printed = capfd.readouterr().err
    assert f"`headgate ui {own.job.job_id}` opens the page of job 'word-count'" in printed
    assert "link=" not in printed


@pytest.mark.slow
def test_the_files_are_open_and_may_load_nothing_from_elsewhere(job: Served) -> None:
    for path in ("/", "/static/app/main.js", "/static/style.css"):
        answer = httpx.get(job.address.url + path, verify=False)
        assert answer.is_success
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self'" in policy
        assert "frame-ancestors 'self' http://localhost:*" in policy
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/vendor/LICENSES.md", "/static/"):
        assert httpx.get(job.address.url + path, verify=False).status_code in (401, 404)


@pytest.mark.parametrize("part", ["", "bytes=5-1", "lines=1"])
def test_a_file_is_answered_whole_whatever_part_is_asked_for(job: Served, part: str) -> None:
    answer = httpx.get(f"{job.address.url}/", headers={"Range": part}, verify=False)
    assert (answer.status_code, answer.text[:9]) == (200, "<!doctype")


def test_other_sites_may_be_named_that_show_the_page() -> None:
    with served(**{"headgate.web.frame-ancestors": "https://notebooks.example.org, https://*.example.com"}) as own:
        policy = httpx.get(own.address.url, verify=False).headers["Content-Security-Policy"]
        assert policy.endswith("frame-ancestors 'self' https://notebooks.example.org https://*.example.com")


def test_what_is_no_site_is_an_error_of_the_settings() -> None:
    env = environment(**{"headgate.rest.enabled": "true", "headgate.web.frame-ancestors": "*; script-src *"})
    numbers(env).print()
    with pytest.raises(ConfigError, match=r"headgate\.web\.frame-ancestors has '\*'"):
        env.execute("framed")


def test_the_page_is_small() -> None:
    """All that a browser loads, and all that the package ships for it."""
    sizes = {path.name: path.stat().st_size for path in FOLDER.rglob("*") if path.suffix not in ("", ".md")}
    assert sum(sizes.values()) < 250_000, sizes


def test_the_events_of_a_job_end_with_the_job() -> None:
    with served() as own, own.http.stream("GET", f"/jobs/{own.job.job_id}/live", timeout=60) as answer:
        names: list[str] = []
        data: dict[str, object] = {}
        for line in answer.iter_lines():
            if line.startswith("event: "):
                names.append(line.removeprefix("event: "))
                if names == ["overview"]:
                    own.job.cancel()
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
    assert set(names[:-1]) == {"overview"}
    assert names[-1] == "ended"
    assert data["state"] == "CANCELED"


def test_vendored_files_have_their_licences() -> None:
    vendor = Path(FOLDER) / "vendor"
    told = (vendor / "LICENSES.md").read_text()
    for path in vendor.iterdir():
        assert path.name == "LICENSES.md" or f"{path.name}" in told
