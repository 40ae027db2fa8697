"""The attempts of a job on its page: a person sees what a rescale has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.visitor import visitor
from tests.unit.web.served import served, until

pytestmark = pytest.mark.slow


def test_a_rescale_is_told_with_what_it_has_changed(browser: Browser, tmp_path: Path) -> None:
    settings = {"headgate__storage__dir": str(tmp_path), "execution__checkpointing__interval": "1 s"}
    with served(**settings) as job, visitor(browser, job.address) as anna:
        until(lambda: job.get("/jobs/JOB/checkpoints")["counts"]["completed"] >= 1)
        requirements = f"/jobs/{job.job.job_id}/resource-requirements"
        _, counter = job.get(requirements)
        wanted = {counter: {"parallelism": {"lowerBound": 1, "upperBound": 2}}}
        trigger = job.http.put(requirements, json=wanted).json()["request-id"]
        assert job.outcome(f"/jobs/JOB/rescaling/{trigger}") == {}
        anna.opens("Exceptions")
        attempts = anna.page.get_by_role("region", name="Attempts").get_by_role("listitem")
        attempts.nth(1).get_by_text("from the beginning, parallelism 1: ran").wait_for()
        assert "made room for another parallelism" in attempts.nth(1).inner_text()
        newest = attempts.first.inner_text()
        assert "from checkpoint" in newest
        assert "counter" in newest
        assert "1 → 2" in newest
