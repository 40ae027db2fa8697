"""A real browser, Debian's Chromium, that all browser tests of a run share. Where it can be installed, it is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
"""The tests may run as root, on a machine whose network ends at its door."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests are slow tests."""
    for item in items:
        if "/tests/browser/" in str(item.path):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless browser, started once."""
    program = shutil.which("chromium")
    if program is None:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            pytest.skip("there is no Chromium here: on Debian and Ubuntu install it with: apt-get install -y chromium")
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=True)
        program = shutil.which("chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield started
        started.close()
