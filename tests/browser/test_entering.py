"""Logging in, and what a session may do: links that work once, cookies, frames, sessions that only read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.visitor import login_address, visitor
from tests.unit.web.served import Served, served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One job for all tests that only look."""
    folder = str(tmp_path_factory.mktemp("storage"))
    with served(headgate__storage__dir=folder, execution__checkpointing__interval="100 ms") as found:
        yield found


def test_a_link_shows_the_job_and_works_once(browser: Browser, job: Served) -> None:
    link = login_address(job.address)
    first, second = browser.new_context(), browser.new_context()
    try:
        page = first.new_page()
        page.goto(link)
        page.get_by_role("heading", name="word-count").wait_for()
        assert "link=" not in page.url
        page.reload()
        page.get_by_role("heading", name="word-count").wait_for()
        other = second.new_page()
        other.goto(link)
        other.get_by_text("headgate ui JOB").wait_for()
    finally:
        first.close()
        second.close()


def test_no_script_reads_the_cookie(browser: Browser, job: Served) -> None:
    with visitor(browser, job.address) as anna:
        anna.sees("counter")
        assert anna.page.evaluate("document.cookie") == ""
        (cookie,) = anna.page.context.cookies()
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"


def test_a_session_that_only_reads_has_no_buttons_and_may_give_no_orders(browser: Browser, job: Served) -> None:
    with visitor(browser, job.address, readOnly=True) as guest:
        guest.sees("read-only")
        assert guest.page.get_by_role("button", name="Cancel").count() == 0
        status = guest.page.evaluate(
            """async () => {
              const csrf = (await (await fetch("/session")).json()).csrf;
              const job = location.hash.split("/")[2];
              const order = {method: "PATCH", headers: {"X-CSRF-Token": csrf}};
              return (await fetch(`/jobs/${job}?mode=cancel`, order)).status;
            }"""
        )
        assert status == 403
        assert job.job.status().name == "RUNNING"


def test_a_session_that_only_reads_is_told_why_it_sees_no_records(browser: Browser, job: Served) -> None:
    with visitor(browser, job.address, readOnly=True) as guest:
        for title in ("Failed records", "Live output", "Logs"):
            guest.opens(title)
            guest.sees("This session may only read")
        guest.opens("Exceptions")
        guest.sees("Attempts")


def test_an_order_needs_the_token_against_csrf(browser: Browser, job: Served) -> None:
    with visitor(browser, job.address) as anna:
        anna.sees("counter")
        status = anna.page.evaluate(
            "async () => (await fetch(`/jobs/${location.hash.split('/')[2]}?mode=cancel`, {method: 'PATCH'})).status"
        )
        assert status == 403
        assert job.job.status().name == "RUNNING"


def test_a_savepoint_is_taken_by_button(browser: Browser, job: Served, tmp_path: Path) -> None:
    with visitor(browser, job.address) as anna:
        anna.clicks("button", "Savepoint")
        anna.page.get_by_label("Folder").fill(str(tmp_path))
        anna.clicks("button", "Take it")
        anna.sees("Savepoint complete")
    assert [path.name for path in tmp_path.glob("*/_metadata")] == ["_metadata"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_the_page_shows_in_a_frame_of_a_notebook(browser: Browser, job: Served, host: str) -> None:
    address = job.job.page_address(framed=True)

    class Notebook(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that http.server calls
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f"<iframe src='{address}' width=900 height=600></iframe>".encode())

        def log_message(self, *_: object) -> None:
            pass

    notebook = ThreadingHTTPServer(("127.0.0.1", 0), Notebook)
    threading.Thread(target=notebook.serve_forever, daemon=True).start()
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"http://{host}:{notebook.server_port}/")
        page.frame_locator("iframe").get_by_role("heading", name="word-count").wait_for()
    finally:
        context.close()
        notebook.shutdown()
        notebook.server_close()


def test_the_page_tells_that_the_job_was_cancelled_by_its_button(browser: Browser) -> None:
    with served() as own, visitor(browser, own.address) as anna:
        anna.clicks("button", "Cancel")
        anna.page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
        anna.sees("The job has ended: CANCELED")
