"""State by key, and records as they come: found on the page by who looks for them."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.visitor import visitor
from tests.unit.web.served import served, until


def test_a_key_is_looked_up_in_the_newest_checkpoint(browser: Browser, tmp_path: Path) -> None:
    with served(headgate__storage__dir=str(tmp_path), execution__checkpointing__interval="500 ms") as job:
        until(lambda: job.get("/jobs/JOB/checkpoints")["counts"]["completed"] > 1)
        with visitor(browser, job.address) as anna:
            anna.opens("State")
            anna.page.get_by_role("table", name="States").get_by_role("row", name="count").click()
            rows = anna.page.get_by_role("region", name="Rows of count")
            rows.get_by_role("cell").first.wait_for()
            assert rows.get_by_role("row").count() == 1 + 3
            rows.get_by_label("Key").fill("2")
            rows.get_by_role("button", name="Find").click()
            rows.get_by_role("row").nth(2).wait_for(state="detached")
            assert rows.get_by_role("row").nth(1).get_by_role("cell").first.inner_text() == "2"
            rows.get_by_label("Key").fill("7")
            rows.get_by_role("button", name="Find").click()
            rows.get_by_text("There is no key 7.").wait_for()


def test_without_checkpoints_the_page_says_what_to_set(browser: Browser) -> None:
    with served() as job, visitor(browser, job.address) as anna:
        anna.opens("State")
        anna.sees("execution.checkpointing")


def test_records_of_an_operator_are_shown_as_they_come(browser: Browser) -> None:
    with served(**{"headgate__web__live-output": "true"}) as job, visitor(browser, job.address) as anna:
        anna.opens("Live output")
        anna.page.get_by_label("Operator").select_option("counter")
        anna.clicks("button", "Start")
        records = anna.page.get_by_role("table", name="Records")
        records.get_by_role("row").nth(5).wait_for()
        assert records.get_by_role("row").nth(1).get_by_role("cell").last.inner_text().startswith("(")
        anna.clicks("button", "Pause")


def test_live_output_that_is_off_says_how_to_switch_it_on(browser: Browser) -> None:
    with served() as job, visitor(browser, job.address) as anna:
        anna.opens("Live output")
        anna.page.get_by_label("Operator").select_option("counter")
        anna.clicks("button", "Start")
        anna.sees("headgate.web.live-output=true")
