"""A real browser, Debian's Chromium, that all browser tests of a run share. Where it can be installed, it is."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from functools import cache

import pytest
from playwright.sync_api import Browser, sync_playwright

QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
"""The tests may run as root, on a machine whose network ends at its door."""


@pytest.fixture(scope="session")
def browser() -> Browser:
    """A headless browser, started once in a process, however many folders of tests share it."""
    program = shutil.which("chromium")
    if program is None:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            pytest.skip("there is no Chromium here: on Debian and Ubuntu install it with: apt-get install -y chromium")
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=True)
    return _started(program or "/usr/bin/chromium")


@cache
def _started(program: str) -> Browser:
    playwright = sync_playwright().start()
    atexit.register(playwright.stop)
    return playwright.chromium.launch(executable_path=program, args=list(QUIET))
