"""Somebody who looks at the page of a job: a browser of their own, logged in, and what they see and click."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
from playwright.sync_api import Browser, ConsoleMessage, Page

from headgate.checkpoint.drivers.address import DriverAddress
from headgate.cli.client import DriverClient

WAIT_MS = 30_000


@dataclass
class Visitor:
    """A page of a browser that nobody else uses. Waiting has a deadline."""

    page: Page
    address: DriverAddress
    faults: list[str] = field(default_factory=list)

    def sees(self, text: str) -> None:
        """Wait until the text is on the page."""
        self.page.get_by_text(text).filter(visible=True).first.wait_for(timeout=WAIT_MS)

    def follows(self, text: str) -> None:
        """Wait until something with this text stands out, and follow its link."""
        self.page.get_by_role("region", name="What stands out").get_by_role("link", name=text).first.click()

    def opens(self, title: str) -> None:
        """Choose a page in the menu."""
        self.page.get_by_role("navigation").get_by_role("link", name=title).click()

    def clicks(self, role: str, name: str) -> None:
        """Click what has this role and name."""
        self.page.get_by_role(role, name=name).first.click()  # type: ignore[arg-type]


def login_address(address: DriverAddress, **grant: bool) -> str:
    """An address that logs a browser in, once, as `headgate ui` makes it."""
    with DriverClient(address) as client:
        path = client.post("/login-links", {"job": address.job_id, **grant})["path"]
    return f"{address.url}{path}"


@contextmanager
def visitor(browser: Browser, address: DriverAddress, **grant: bool) -> Iterator[Visitor]:
    """A visitor whose browser is logged in and shows the job. What the browser complains about fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    found = Visitor(page, address)
    page.on("pageerror", lambda error: found.faults.append(str(error)))
    page.on("console", lambda message: _note(found, message))
    try:
        page.goto(login_address(address, **grant))
        yield found
        assert not found.faults, found.faults
    finally:
        context.close()


def _note(visitor: Visitor, message: ConsoleMessage) -> None:
    """Keep an error that is not only an answer with a status of its own."""
    if message.type == "error" and "Failed to load resource" not in message.text:
        visitor.faults.append(message.text)


def ask(address: DriverAddress, path: str, **headers: str) -> httpx.Response:
    """What a stranger is answered, who sends these headers."""
    return httpx.get(f"{address.url}{path}", headers={name.replace("_", "-"): value for name, value in headers.items()})
