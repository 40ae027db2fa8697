"""A job whose names, keys, records and errors try to be markup, addresses that name nothing, sessions that end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import RecordErrors, StreamExecutionEnvironment
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types
from tests.browser.visitor import Visitor, visitor
from tests.unit.web.served import Served, serving, until

pytestmark = pytest.mark.slow
EVIL = '<img src=x onerror="window.bad=1"><script>window.bad=1</script>\'"&amp;/../%41%'
SHOWN = "main table, main .panel, main .notice, main .actions"
PAGES = ("Checkpoints", "Exceptions", "Failed records", "State", "Live output", "Configuration", "Logs", "Overview")


class Evil(KeyedProcessFunction):
    """Its texts are markup, and one of them is no Unicode text."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.STRING()))
        runtime_context.get_metrics_group().gauge(f"{EVIL} \ud800", lambda: float("nan"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.seen.update(EVIL)
        if value % 7 == 0:
            raise ValueError(EVIL)
        yield EVIL


def evil(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_source(RateLimitedSource(NumberSequenceSource(0, 10**9), 200), None, EVIL).uid("numbers")
    found = numbers.key_by(lambda number: EVIL).process(Evil()).name(EVIL).uid(f"uid {EVIL}")
    found.on_error(RecordErrors.skip(ValueError)).filter(lambda text: False).uid("none").print().uid("printed")
    env.from_collection([1, 2]).name("few").uid("few").filter(lambda number: False).uid("no few").print().uid(
        "few printed"
    )


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = {
        "headgate__storage__dir": str(tmp_path_factory.mktemp("s")),
        "execution__checkpointing__interval": "500 ms",
        "pipeline__global-job-parameters": f"evil:{EVIL}",
        "headgate__web__live-output": "true",
    }
    with serving(evil, **settings) as found:
        until(lambda: found.get("/jobs/JOB/failed-records")["operators"] != [])
        until(lambda: found.get("/jobs/JOB/checkpoints")["counts"]["completed"] > 1)
        yield found


def is_harmless(anna: Visitor) -> bool:
    return bool(anna.page.evaluate("window.bad === undefined && !document.querySelector('#app script, img[onerror]')"))


def test_markup_is_shown_as_text_on_every_page(browser: Browser, job: Served) -> None:
    with visitor(browser, job.address) as anna:
        for page in PAGES:
            anna.opens(page)
            anna.page.locator(SHOWN).first.wait_for()
            assert anna.page.get_by_text("could not be drawn").count() == 0
            assert is_harmless(anna), page
        anna.page.get_by_role("table", name="Operators").get_by_role("row", name="<img").last.click()
        anna.page.get_by_role("table", name="What its functions count").get_by_text("<script>").first.wait_for()
        anna.opens("Failed records")
        anna.sees("<script>window.bad=1")
        anna.opens("State")
        anna.page.get_by_role("table", name="States").get_by_role("row", name="seen").click()
        anna.page.get_by_role("region", name="Rows of seen").get_by_text("<script>").first.wait_for()
        anna.opens("Live output")
        anna.page.get_by_label("Operator").select_option(f"uid {EVIL}")
        anna.clicks("button", "Start")
        anna.page.get_by_role("table", name="Records").get_by_text("<script>").first.wait_for()
        assert is_harmless(anna)


def test_a_source_that_has_ended_is_shown_up_close(browser: Browser, job: Served) -> None:
    with visitor(browser, job.address) as anna:
        anna.page.get_by_role("table", name="Operators").get_by_role("row", name="few").first.click()
        anna.page.get_by_role("table", name="Subtasks").get_by_role("cell", name="the end", exact=True).wait_for()


@pytest.mark.parametrize("part", ["%", "%E0%A4%A", "overview/nothing", "nothing", "checkpoints/x", "state/%/%"])
def test_an_address_that_names_nothing_shows_the_job(browser: Browser, job: Served, part: str) -> None:
    with visitor(browser, job.address) as anna:
        anna.sees("Overview")
        anna.page.evaluate("(part) => { location.hash += `/${part}`; }", part)
        anna.page.reload()
        anna.page.get_by_role("navigation").wait_for()
        anna.page.locator(SHOWN).first.wait_for()


def test_who_is_no_longer_known_is_told_how_to_log_in(browser: Browser, job: Served) -> None:
    with visitor(browser, job.address) as anna:
        anna.sees("Overview")
        anna.page.context.clear_cookies()
        anna.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # follows the job anew
        anna.sees("headgate ui JOB")
