"""Every page of a job's menu shows what it is about; `make pictures` also keeps how they look, in docs/images."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from headgate.common import Duration, WatermarkStrategy
from headgate.common.watermark_strategy import TimestampAssigner
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.functions.api import MapFunction
from headgate.functions.record_errors import RecordErrors
from headgate.web.page.paths import FOLDER
from tests.browser.visitor import Visitor, visitor
from tests.unit.web.served import Count, Served, serving, until

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "page.md"
IMAGES = PAGE.parent / "images"
KEYS = [line.split('"')[1] for line in (FOLDER / "app" / "pages.js").read_text().splitlines() if "{ key:" in line]


class OrderTime(TimestampAssigner):
    """Orders come every ten milliseconds of event time."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 1_767_225_600_000 + int(value["order"]) * 10


class Parse(MapFunction):
    """Fails for one order in a thousand."""

    def map(self, value: Any) -> Any:
        if value["order"] % 1000 == 999:
            raise ValueError(f"order {value['order']} has no customer")
        return value


def orders(env: StreamExecutionEnvironment) -> None:
    """Orders by customer, some of which cannot be parsed, and a slow view of those that are large."""
    source = DataGeneratorSource(lambda index: {"order": index, "customer": index % 97}, None, 400)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    read = env.from_source(source, strategy.with_timestamp_assigner(OrderTime()), "orders").uid("orders")
    parsed = read.rebalance().map(Parse()).name("parse").uid("parse").on_error(RecordErrors.skip(ValueError))
    counted = (
        parsed.key_by(lambda order: order["customer"]).process(Count()).name("orders by customer").uid("by-customer")
    )
    counted.rebalance().filter(lambda found: found[1] < 0).name("large orders").uid("large").print().name("report")
    parsed.filter(lambda order: False).name("audit").uid("audit").print().name("archive")


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A job that has run for a while."""
    settings = {
        "headgate__storage__dir": str(tmp_path_factory.mktemp("s")),
        "execution__checkpointing__interval": "1 s",
    }
    with serving(orders, parallelism__default="3", **settings) as found:
        until(lambda: found.get("/jobs/JOB/checkpoints")["counts"]["completed"] >= 12)
        yield found


@pytest.fixture(scope="module")
def anna(browser: Browser, job: Served) -> Iterator[Visitor]:
    with visitor(browser, job.address) as found:
        yield found


@pytest.mark.parametrize("key", KEYS)
def test_each_page_of_the_menu_shows_itself(anna: Visitor, key: str) -> None:
    page = anna.page
    page.evaluate(f"location.hash = location.hash.split('/').slice(0, 3).join('/') + '/' + {json.dumps(key)}")
    page.locator("nav a[aria-current=page]").wait_for()
    if key == "overview":
        page.locator(".node").nth(1).click()
        page.get_by_role("table", name="Subtasks").wait_for()
    if key == "checkpoints":
        page.get_by_role("table", name="History").get_by_text("COMPLETED").first.click()
        page.get_by_role("list", name="Subtasks, the slowest first").wait_for()
    page.get_by_text("Waiting for").first.wait_for(state="hidden")
    assert page.get_by_role("alert").count() == 0
    if "HEADGATE_PICTURES" in os.environ and f"page-{key}.png" in PAGE.read_text():
        IMAGES.mkdir(exist_ok=True)
        page.wait_for_timeout(2_500)  # for a picture with curves; nothing is tested behind it
        page.screenshot(path=IMAGES / f"page-{key}.png", full_page=key == "overview")


def test_the_page_is_there_within_a_moment(anna: Visitor) -> None:
    """Not how long it takes here, but what it waits for: one round of files, one session, one event."""
    anna.page.evaluate("location.hash = location.hash.split('/').slice(0, 3).join('/')")
    anna.page.reload()
    anna.page.locator(".node").first.wait_for()
    names = anna.page.evaluate("performance.getEntriesByType('resource').map((each) => new URL(each.name).pathname)")
    asked = [name for name in names if not name.startswith("/static/")]
    assert len(asked) <= 6, asked
