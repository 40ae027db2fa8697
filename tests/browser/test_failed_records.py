"""Records that a function fails for are found on the page, with what they were and why they failed."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.test_pictures import orders
from tests.browser.visitor import visitor
from tests.unit.web.served import serving

pytestmark = pytest.mark.slow


def test_records_that_were_skipped_are_shown_with_their_errors(browser: Browser) -> None:
    with serving(orders) as job, visitor(browser, job.address) as anna:
        anna.follows("records failed in 'parse")
        anna.page.get_by_role("cell", name="parse").wait_for()
        sample = anna.page.get_by_role("region", name="Samples of parse").locator("details").last
        sample.locator("summary").click()
        assert "ValueError: order 999 has no customer" in sample.inner_text()
        assert "{'customer': 29, 'order': 999}" in sample.inner_text()
        assert "skipped" in sample.inner_text()
