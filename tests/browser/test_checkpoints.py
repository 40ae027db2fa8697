"""The page of checkpoints: what made one slow, why one failed, all of them in pages, and restores."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from headgate.common import WatermarkStrategy
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.elements import SavepointFormat
from headgate.functions.api import MapFunction
from headgate.functions.sink import Committer, Sink, SinkContext, SinkWriter
from headgate.ids import CheckpointId
from tests.browser.visitor import Visitor, visitor
from tests.unit.web.served import Served, served, serving, until

pytestmark = pytest.mark.slow


def settings(folder: Path, interval: str, **more: str) -> dict[str, str]:
    return {"headgate__storage__dir": str(folder), "execution__checkpointing__interval": interval} | more


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    """Numbers without end."""
    source = RateLimitedSource(NumberSequenceSource(0, 10**9), 1000)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")


def history(anna: Visitor) -> Locator:
    """The rows of the log that are shown, newest first."""
    rows = anna.page.get_by_role("table", name="History").locator("tbody tr")
    rows.first.wait_for()
    return rows


def count(job: Served, what: str) -> int:
    return int(job.get("/jobs/JOB/checkpoints")["counts"][what])


# --- a slow one


class SlowDisk(Sink[int]):
    """Prepares numbers on a disk that takes a while to be synced."""

    def writer(self, context: SinkContext) -> SinkWriter[int]:
        return Latest()

    def committer(self, context: SinkContext) -> Committer[int]:
        return Synced()


class Latest(SinkWriter[int]):
    """Keeps the number that came last."""

    def __init__(self) -> None:
        self._last = 0

    def write(self, records: list[Any]) -> None:
        self._last = records[-1]

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[int]:
        return [self._last]


class Synced(Committer[int]):
    """Takes a while."""

    def secure(self, committables: list[int]) -> None:
        time.sleep(0.6)

    def commit(self, committables: list[int]) -> None:
        pass


def slow_disk(env: StreamExecutionEnvironment) -> None:
    numbers(env).rebalance().sink_to(SlowDisk()).name("archive").uid("archive")


def test_the_page_names_the_slow_upload(browser: Browser, tmp_path: Path) -> None:
    with serving(slow_disk, **settings(tmp_path, "100 ms")) as job, visitor(browser, job.address) as anna:
        until(lambda: count(job, "completed") >= 2)
        anna.opens("Checkpoints")
        rows = history(anna).filter(has_text="COMPLETED")
        rows.first.click()
        anna.page.get_by_text(
            re.compile(r"Upload of .*archive, subtask 0, took \d+ ms .*: the storage is slow")
        ).wait_for()
        chart = anna.page.get_by_role("list", name="Subtasks, the slowest first")
        row = chart.get_by_role("listitem", name=re.compile("archive, subtask 0: .*upload"))
        row.focus()
        expect(chart.locator("li.slowest")).to_have_count(1)
        expect(chart.locator("li").first).to_have_attribute("aria-label", re.compile("archive"))


# --- one that fails


def test_a_failed_checkpoint_tells_why_and_who_had_not_answered(browser: Browser, tmp_path: Path) -> None:
    limits = {
        "execution__checkpointing__timeout": "200 ms",
        "web__checkpoints__history": "1000",
        "execution__checkpointing__tolerable-failed-checkpoints": "100000",
    }
    with serving(slow_disk, **settings(tmp_path, "1 s", **limits)) as job, visitor(browser, job.address) as anna:
        until(lambda: count(job, "failed") >= 1)
        link = anna.page.get_by_role("navigation").get_by_role("link", name="Checkpoints")
        expect(link.locator(".count")).to_have_text(re.compile(r"\d+"))
        anna.opens("Checkpoints")
        failed = history(anna).filter(has_text="FAILED").filter(has_text="1 of 2 subtasks").first
        expect(failed).to_contain_text("not complete after 200 ms")
        failed.click()
        anna.page.get_by_role("alert").get_by_text("It failed:").wait_for()
        told = re.compile("Subtask 0 of .*archive had not answered when the checkpoint was given up")
        anna.page.get_by_text(told).wait_for()
        anna.page.get_by_role("listitem", name=re.compile("archive, subtask 0: no answer")).wait_for()


# --- many of them


def test_the_newest_and_the_oldest_are_reached_and_an_address_opens_one(browser: Browser, tmp_path: Path) -> None:
    kept = {"web__checkpoints__history": "1000"}
    with served(**settings(tmp_path, "10 ms", **kept)) as job, visitor(browser, job.address) as anna:
        until(lambda: count(job, "completed") >= 60)
        anna.opens("Checkpoints")
        anna.sees("How long checkpoints took")
        expect(history(anna)).to_have_count(25)
        older = anna.page.get_by_role("button", name="Older")
        for _ in range(100):
            if not older.is_enabled():
                break
            newest = history(anna).first.get_by_role("cell").first
            before = newest.inner_text()
            older.click()
            expect(newest).not_to_have_text(before)
        first = history(anna).last.get_by_role("cell").first
        expect(first).to_have_text("1")
        first.click()
        anna.page.get_by_role("region", name="Checkpoint 1").get_by_text("Stored in").wait_for()
        assert anna.page.url.endswith("/checkpoints/1")
        anna.page.reload()
        anna.page.get_by_role("region", name="Checkpoint 1").get_by_role("list").get_by_text("counter").first.wait_for()


# --- savepoints and restores


class FailsOnce(MapFunction):
    """Fails when a file says so, and removes it."""

    def __init__(self, order: Path) -> None:
        self._order = order

    def map(self, value: Any) -> Any:
        if self._order.exists():
            self._order.unlink()
            raise ValueError("as ordered")
        return value


def test_savepoints_and_restores_are_listed(browser: Browser, tmp_path: Path) -> None:
    def failing(env: StreamExecutionEnvironment) -> None:
        numbers(env).map(FailsOnce(tmp_path / "fail")).uid("fails").filter(lambda _: False).print().uid("printed")

    with serving(failing, **settings(tmp_path / "chk", "1 s")) as job, visitor(browser, job.address) as anna:
        until(lambda: count(job, "completed") >= 1)
        job.job.trigger_savepoint(str(tmp_path / "saved"), SavepointFormat.CANONICAL)
        anna.opens("Checkpoints")
        history(anna).filter(has_text="savepoint, canonical").first.wait_for()
        (tmp_path / "fail").touch()
        until(lambda: count(job, "restored") >= 1)
        restored = anna.page.get_by_role("region", name="Restores").get_by_role("listitem").first
        expect(restored).to_contain_text(re.compile(r"restored from checkpoint \d+ at \d\d:\d\d:\d\d"), timeout=30_000)
