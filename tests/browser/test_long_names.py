"""A job whose names are very long: each stays within its box, on every page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import StreamExecutionEnvironment
from tests.browser.visitor import visitor
from tests.unit.web.served import Count, Served, serving, until

pytestmark = pytest.mark.slow
WIDE = "W" * 300
"""Letters as wide as any, and no place to break the line."""
PAGES = ("Checkpoints", "Exceptions", "Failed records", "State", "Live output", "Configuration", "Logs", "Overview")

OUTSIDE = """() => {
  const told = [];
  for (const node of document.querySelectorAll('.node')) {
    const box = node.querySelector('rect').getBoundingClientRect();
    for (const text of node.querySelectorAll('text, foreignObject')) {
      const own = text.getBoundingClientRect();
      if (text.firstElementChild?.scrollHeight > own.height) told.push('in the graph: more than a line');
      if (own.left < box.left || own.right > box.right) told.push(`in the graph: ${text.textContent.slice(0, 40)}`);
    }
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) {
    const wide = [...document.querySelectorAll('main *, header *')].filter(
      (each) => each.getBoundingClientRect().right > innerWidth && !each.closest('.scroll'));
    told.push(`beside the page: ${wide.map((each) => each.tagName + '.' + each.className).join(' ')}`);
  }
  for (const dialog of document.querySelectorAll('dialog[open]')) {
    if (dialog.scrollWidth > dialog.clientWidth) told.push('in the dialog');
  }
  for (const panel of document.querySelectorAll('.panel')) {
    if (panel.scrollWidth > panel.clientWidth) told.push(`in the panel ${panel.ariaLabel?.slice(0, 40)}`);
  }
  return told;
}"""


def long_names(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_source(RateLimitedSource(NumberSequenceSource(0, 10**9), 200), None, WIDE).uid("numbers")
    counts = numbers.key_by(lambda number: number % 3).process(Count()).name(WIDE).uid(WIDE)
    counts.filter(lambda count: False).uid("none").print().uid("printed").name("幅" * 80)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = {
        "headgate__storage__dir": str(tmp_path_factory.mktemp("s")),
        "execution__checkpointing__interval": "500 ms",
        "headgate__web__live-output": "true",
        "pipeline__global-job-parameters": f"wide:{WIDE}",
    }
    with serving(long_names, **settings) as found:
        until(lambda: found.get("/jobs/JOB/checkpoints")["counts"]["completed"] > 1)
        yield found


@pytest.mark.parametrize("width", [1280, 700])
def test_long_names_stay_within_their_boxes(browser: Browser, job: Served, width: int) -> None:
    with visitor(browser, job.address) as anna:
        anna.page.set_viewport_size({"width": width, "height": 900})
        for page in PAGES:
            anna.opens(page)
            anna.page.locator("main table, main .panel, main .notice, main .actions").first.wait_for()
            assert anna.page.evaluate(OUTSIDE) == [], page
        anna.page.get_by_role("group", name="Job graph").get_by_role("button").first.click()
        anna.page.get_by_role("table", name="Subtasks").wait_for()
        assert anna.page.evaluate(OUTSIDE) == []
        anna.clicks("button", "Rescale")
        anna.page.locator("dialog[open]").wait_for()
        assert anna.page.evaluate(OUTSIDE) == []


def test_a_name_that_is_cut_short_is_told_in_full_by_its_title(browser: Browser, job: Served) -> None:
    with visitor(browser, job.address) as anna:
        node = anna.page.get_by_role("group", name="Job graph").get_by_role("button").first
        node.wait_for()
        assert node.locator("title").text_content() == f"Source: {WIDE}"
