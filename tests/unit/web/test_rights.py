"""Orders that a browser may not give: on every path that takes one, whatever the browser brings but its own rights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from starlette.routing import Route

from headgate.web.access import RestConfig
from headgate.web.app import application
from headgate.web.checks import SESSION_PATH
from headgate.web.logins import Entrance
from headgate.web.page.history import Histories
from headgate.web.requests import ServedJobs
from tests.unit.web.served import Served, served

JOBS = ServedJobs()
READING = {"GET", "HEAD"}
ROUTES = [
    route
    for route in application(JOBS, Entrance(token="", config=RestConfig(), port=0), Histories(JOBS)).routes
    if isinstance(route, Route)
]
ORDERS = sorted((method, route.path) for route in ROUTES for method in (route.methods or set()) - READING)
FILES = ("/", "/static/{name:path}")
READS = sorted({route.path for route in ROUTES if "GET" in (route.methods or ()) and route.path not in FILES})
OF_RECORDS = ("failed-records", "logs/{slot}", "output/{uid:path}", "state/{state:path}")


@pytest.fixture(scope="module")
def job() -> Iterator[Served]:
    with served() as found:
        yield found


def link(job: Served, **grant: bool) -> str:
    path: str = job.http.post("/login-links", json={"job": job.job.job_id, **grant}).json()["path"]
    return path


def ask(job: Served, method: str, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
    """Ask as somebody of whom nothing is known but the headers."""
    with httpx.Client(base_url=job.address.url, verify=False, timeout=60) as http:
        return http.request(method, path, headers=headers)


def status(job: Served, path: str, headers: dict[str, str]) -> int:
    """The status of an answer, which may be a stream that does not end."""
    with httpx.stream("GET", job.address.url + path_of(path, job), headers=headers, verify=False) as answer:
        return answer.status_code


def browser(job: Served, **grant: bool) -> tuple[dict[str, str], str]:
    """A new browser: the header with its cookie, and its token against CSRF."""
    cookie = {"Cookie": ask(job, "GET", link(job, **grant)).headers["Set-Cookie"].partition(";")[0]}
    return cookie, ask(job, "GET", "/session", cookie).json()["csrf"]


def path_of(path: str, job: Served) -> str:
    return re.sub(r"\{\w+(:path)?\}", "x", path.replace("{job}", job.job.job_id))


def test_the_orders_are_those_of_the_docs() -> None:
    assert {method for method, _ in ORDERS} == {"DELETE", "PATCH", "POST", "PUT"}
    assert len(ORDERS) == 8


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), ORDERS)
def test_an_order_needs_a_session_with_rights_and_its_own_token(job: Served, method: str, path: str) -> None:
    (guest, guests), (owner, _), (_, others) = browser(job, readOnly=True), browser(job), browser(job)
    refused = (
        [{}, {"X-CSRF-Token": guests}],
        [owner, *({**owner, "X-CSRF-Token": csrf} for csrf in ("", guests, others))],
    )
    if path != SESSION_PATH:
        refused[1].append({**guest, "X-CSRF-Token": guests, "X-HTTP-Method-Override": "GET"})
    prefixes = ("", "/v1") if path.startswith("/jobs/") else ("",)
    for status, all_headers in zip((401, 403), refused, strict=True):
        for headers in all_headers:
            for prefix in prefixes:
                answer = ask(job, method, prefix + path_of(path, job), headers)
                assert answer.status_code == status, headers
    assert job.get("/jobs/JOB/status") == {"status": "RUNNING"}
    assert job.get("/jobs/JOB/checkpoints")["counts"]["total"] == 0


def test_who_has_left_gives_no_order(job: Served) -> None:
    owner, csrf = browser(job)
    headers = {**owner, "X-CSRF-Token": csrf}
    assert ask(job, "DELETE", "/session", headers).is_success
    assert ask(job, "PATCH", f"/jobs/{job.job.job_id}?mode=cancel", headers).status_code == 401


@pytest.mark.slow
def test_who_only_reads_sees_what_the_docs_say(job: Served) -> None:
    guest, _ = browser(job, readOnly=True)
    refused = {path for path in READS if status(job, path, guest) == 403}
    assert refused == {f"/jobs/{{job}}/{path}" for path in OF_RECORDS}
    for path in refused:
        for prefix in ("", "/v1"):
            answer = ask(job, "GET", prefix + path_of(path, job), guest)
            assert "only read" in answer.json()["errors"][0]
        assert "only read" not in job.http.get(path_of(path, job)).text


@pytest.mark.slow
def test_no_answer_is_kept_by_a_cache_or_taken_for_a_page(job: Served) -> None:
    owner, _ = browser(job)
    for path in (*READS, "/nothing", "/login"):
        for headers in (owner, {}):
            with httpx.stream("GET", job.address.url + path_of(path, job), headers=headers, verify=False) as answer:
                assert answer.headers["Cache-Control"] == "no-store", path
                assert answer.headers["X-Content-Type-Options"] == "nosniff", path


def test_who_only_reads_may_ask_whether_something_is_there(job: Served) -> None:
    guest, _ = browser(job, readOnly=True)
    for path, status in (("/session", 200), (f"/jobs/{job.job.job_id}", 200), ("/jobs/x", 404)):
        assert ask(job, "HEAD", path, guest).status_code == status


def test_of_many_that_use_a_link_at_once_one_comes_in(job: Served) -> None:
    address = link(job)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(job, "GET", address), range(16)))
    assert ["Set-Cookie" in answer.headers for answer in answers].count(True) == 1


def test_who_asks_where_a_link_leads_does_not_use_it_up(job: Served) -> None:
    address = link(job)
    assert "Set-Cookie" not in ask(job, "HEAD", address).headers
    assert "Set-Cookie" in ask(job, "GET", address).headers
