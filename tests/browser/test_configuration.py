"""A person looks for an option, for what was set, and for where the job runs."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.visitor import visitor
from tests.unit.web.served import served

pytestmark = pytest.mark.slow


def test_options_are_found_and_secrets_are_not(browser: Browser) -> None:
    settings = {"execution__checkpointing__interval": "2 s", "pipeline__global-job-parameters": "db.password:swordfish"}
    with served(parallelism__default="2", **settings) as job, visitor(browser, job.address) as anna:
        anna.opens("Configuration")
        options = anna.page.get_by_role("table", name="Options")
        options.get_by_role("row", name="execution.checkpointing.interval 2000 ms").wait_for()
        expect(options.get_by_text("headgate.batch.records")).to_have_count(0)
        anna.page.get_by_label("only options that are set").uncheck()
        anna.page.get_by_label("Find options").fill("records batch")
        options.get_by_text("headgate.batch.records", exact=True).wait_for()
        expect(options.get_by_text("execution.checkpointing.interval", exact=True)).to_have_count(0)
        assert "swordfish" not in anna.page.content()
        slots = anna.page.get_by_role("table", name="Slots").get_by_role("row")
        expect(slots).to_have_count(3)
        expect(slots.nth(2)).to_contain_text(str(os.getpid()))
