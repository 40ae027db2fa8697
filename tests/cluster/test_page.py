"""The page of a job on Spark: a slot whose process was killed is found there."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from pyspark.sql import SparkSession

from headgate.common import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment
from tests.browser.chromium import browser
from tests.browser.visitor import visitor
from tests.cluster.programs import Count, pids
from tests.unit.web.served import address_of

__all__ = ["browser"]

pytestmark = pytest.mark.spark

SETTINGS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "0 s",
    "execution.checkpointing.interval": "200 ms",
}


def told(number: int) -> int:
    if number % 500 == 0:
        print(f"number {number} came")
    return number


def test_a_lost_slot_is_found_on_the_page_and_so_is_what_slots_print(
    spark: SparkSession, browser: Browser, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(SETTINGS), spark)
    env.set_parallelism(2)
    context = spark.sparkContext
    numbers = env.from_source(DataGeneratorSource(lambda index: index, None, 1000), None, "numbers")
    numbers = numbers.map(told).name("told")
    numbers.key_by(lambda number: number % 10).process(Count(tmp_path)).name("counter").filter(lambda _: False).print()
    job = env.submit("loses a slot")
    try:
        with visitor(browser, address_of(job.job_id)) as anna:
            anna.page.locator(".node").first.wait_for()
            deadline_s = time.monotonic() + 60
            while len(pids(tmp_path)) < 2:
                assert time.monotonic() < deadline_s, "the slots do not begin"
                time.sleep(0.05)
            os.kill(pids(tmp_path)[0], signal.SIGKILL)
            anna.follows("failed or was lost")
            anna.page.get_by_role("region", name="Failures").get_by_text("slot-").first.wait_for()
            anna.page.get_by_role("region", name="Attempts").get_by_role("listitem").nth(1).wait_for()
            anna.opens("Configuration")
            assert anna.page.get_by_role("link", name="Spark's own page").get_attribute("href") == context.uiWebUrl
            slots = anna.page.get_by_role("table", name="Slots")
            slots.get_by_role("cell", name=str(pids(tmp_path)[-1]), exact=True).wait_for()
            anna.opens("Logs")
            log = anna.page.get_by_role("log")
            log.get_by_text("came").first.wait_for()
            anna.page.get_by_label("Containing").fill("number 500 ")
            assert all(" number 500 came" in line for line in log.inner_text().splitlines() if line.strip())
    finally:
        job.cancel()
        job.wait(60)
