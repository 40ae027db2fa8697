"""State by key, and records as they come: found on the page by who looks for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from tests.browser.visitor import visitor
from tests.unit.web.served import Count, served, serving, until
from tests.unit.web.test_output_paths import taps

pytestmark = pytest.mark.slow
KEYS = 120
SIZE = re.compile(r"^[\d.]+ k?B$")


def many_keys(env: StreamExecutionEnvironment) -> None:
    """Counts numbers by more keys than the page shows at a time."""
    numbers = env.from_source(RateLimitedSource(NumberSequenceSource(0, 10**9), 1000), None, "numbers")
    numbers.key_by(lambda number: number % KEYS).process(Count()).uid("counter").filter(lambda count: False).print()


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


def test_the_size_of_each_state_is_shown_with_its_operators(browser: Browser, tmp_path: Path) -> None:
    with served(headgate__storage__dir=str(tmp_path), execution__checkpointing__interval="500 ms") as job:
        until(lambda: job.get("/jobs/JOB/checkpoints")["counts"]["completed"] > 1)
        with visitor(browser, job.address) as anna:
            anna.page.get_by_role("table", name="Operators").get_by_role("row", name="counter").click()
            count = anna.page.get_by_role("table", name="States in checkpoint").get_by_role("row", name="count")
            expect(count.get_by_role("cell").last).to_have_text(SIZE)
            anna.opens("State")
            count = anna.page.get_by_role("table", name="States").get_by_role("row", name="count")
            expect(count.get_by_role("cell").last).to_have_text(SIZE)


def test_a_savepoint_is_looked_through_page_by_page_and_without_a_mouse(browser: Browser, tmp_path: Path) -> None:
    with serving(many_keys, headgate__storage__dir=str(tmp_path / "storage")) as job:
        handle: Any = job.job
        until(lambda: sum(handle.progress.records_in.values()) > 10 * KEYS)
        handle.trigger_savepoint(str(tmp_path), SavepointFormat.CANONICAL).result(60)
        number = job.get("/jobs/JOB/state/snapshots")["snapshots"][0]["id"]
        with visitor(browser, job.address) as anna:
            anna.opens("State")
            anna.page.get_by_label("Snapshot").select_option(str(number))
            row = anna.page.get_by_role("table", name="States").get_by_role("row", name="count")
            row.focus()
            anna.page.keyboard.press("Enter")
            rows = anna.page.get_by_role("region", name="Rows of count")
            found: set[str] = set()
            first = rows.locator("tbody tr:first-child td:first-child")
            for size in (50, 50, 20):
                expect(rows.get_by_role("row")).to_have_count(1 + size)
                found |= set(rows.locator("td:first-child").all_inner_texts())
                if size == 50:
                    shown = first.inner_text()
                    rows.get_by_role("button", name="Next").press("Enter")
                    expect(first).not_to_have_text(shown)
            expect(rows.get_by_role("button", name="Next")).to_be_disabled()
            assert found == {str(key) for key in range(KEYS)}
            rows.get_by_role("button", name="Previous").click()
            expect(rows.get_by_role("row")).to_have_count(1 + 50)


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


def test_a_live_output_that_was_refused_and_has_room_now_is_not_kept_open_unseen(browser: Browser) -> None:
    with served(**{"headgate__web__live-output": "true"}) as job, visitor(browser, job.address) as anna:
        anna.page.route("**/output/*", lambda route: route.fulfill(status=503), times=1)
        anna.opens("Live output")
        anna.page.get_by_label("Operator").select_option("counter")
        with anna.page.expect_response(lambda answer: "/output/" in answer.url and answer.ok):
            anna.clicks("button", "Start")
        until(lambda: not taps(job), 10)


def test_live_output_that_is_off_says_how_to_switch_it_on(browser: Browser) -> None:
    with served() as job, visitor(browser, job.address) as anna:
        anna.opens("Live output")
        anna.page.get_by_label("Operator").select_option("counter")
        anna.clicks("button", "Start")
        anna.sees("headgate.web.live-output=true")
