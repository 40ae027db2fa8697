"""Ten planted troubles: each is found from the page alone, by what a person would look at and click."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from headgate.checkpoint.file_store import FileSystemStore
from headgate.common import Duration, WatermarkStrategy
from headgate.common.watermark_strategy import TimestampAssigner
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.functions.api import KeyedProcessFunction, MapFunction
from headgate.functions.context import RuntimeContext
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types
from tests.browser.visitor import visitor
from tests.unit.web.served import Count, serving

pytestmark = pytest.mark.slow


def numbers(env: StreamExecutionEnvironment, per_second: int = 1000) -> DataStream:
    """Numbers without end."""
    source = RateLimitedSource(NumberSequenceSource(0, 10**9), per_second)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")


class Slowly(MapFunction):
    """Passes each record on after a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def map(self, value: Any) -> Any:
        time.sleep(self._seconds)
        return value


def skewed_key(env: StreamExecutionEnvironment) -> None:
    keyed = numbers(env).key_by(lambda number: 0 if number % 10 else number % 100).process(Count()).name("by customer")
    keyed.key_by(lambda counted: counted[0]).map(Slowly(0.0007)).name("enrich").filter(lambda _: False).print()


def test_a_skewed_key(browser: Browser) -> None:
    with serving(skewed_key, parallelism__default="4") as job, visitor(browser, job.address) as anna:
        anna.follows("is skewed: subtask")
        anna.sees("Skewed: subtask")
        anna.page.get_by_label("greatest first by").select_option("in")
        rows = anna.page.get_by_role("table", name="Subtasks").get_by_role("row")
        rows.nth(1).wait_for()
        most, next_ = (
            float(rows.nth(place).get_by_role("cell").nth(6).inner_text().replace(",", "")) for place in (1, 2)
        )
        assert most > 2 * next_


def slow_sink(env: StreamExecutionEnvironment) -> None:
    numbers(env).rebalance().map(Slowly(0.02)).name("slow sink").filter(lambda _: False).print()


def test_a_slow_sink(browser: Browser) -> None:
    with serving(slow_sink) as job, visitor(browser, job.address) as anna:
        anna.follows("is too slow: subtask 0 is busy")
        anna.page.get_by_role("region", name="Vertex slow sink").wait_for()
        anna.page.get_by_role("button", name="back-pressured").wait_for()


class TimeOfHalf(TimestampAssigner):
    """Event time goes on until record 500, then stands."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return min(int(value), 500) * 1000


def stuck_watermark(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    timed = numbers(env).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(TimeOfHalf()))
    timed.key_by(lambda number: number % 3).process(Count()).name("counter").filter(lambda _: False).print()


@pytest.mark.soak
def test_a_stuck_watermark(browser: Browser) -> None:
    with serving(stuck_watermark) as job, visitor(browser, job.address) as anna:
        anna.follows("although records come")
        anna.sees("Watermark behind the clock")
        anna.page.get_by_role("region", name="Vertex").get_by_role("cell", name="1970-01-01 00:08:1").first.wait_for()


class Hoard(KeyedProcessFunction):
    """Keeps all that it sees."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.STRING()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.kept.update(secrets.token_hex(1000))
        yield value


def growing_state(env: StreamExecutionEnvironment) -> None:
    numbers(env).key_by(lambda number: number).process(Hoard()).name("hoard").filter(lambda _: False).print()


@pytest.mark.soak
def test_growing_state(browser: Browser, tmp_path: Path) -> None:
    settings = {"headgate__storage__dir": str(tmp_path), "execution__checkpointing__interval": "2 s"}
    with serving(growing_state, **settings) as job, visitor(browser, job.address) as anna:
        anna.follows("The state of 'hoard")
        anna.sees("State in the newest checkpoint")


def idle_source(env: StreamExecutionEnvironment) -> None:
    numbers(env).filter(lambda _: False).print()
    source = RateLimitedSource(NumberSequenceSource(0, 10**9), 0.01)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "rare events").filter(lambda _: False).print()


@pytest.mark.soak
def test_an_idle_source(browser: Browser) -> None:
    with serving(idle_source) as job, visitor(browser, job.address) as anna:
        anna.follows("The source 'Source: rare events")
        anna.page.get_by_role("region", name="Vertex Source: rare events").get_by_text("0/s").first.wait_for()


class FailsFor(MapFunction):
    """Fails for one record, each time."""

    def map(self, value: Any) -> Any:
        if value == 77:
            raise ValueError("no such customer")
        return value


def poison_record(env: StreamExecutionEnvironment) -> None:
    numbers(env).map(FailsFor()).name("look up").filter(lambda _: False).print()


RESTARTS = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1000"}


def test_a_poison_record(browser: Browser) -> None:
    settings = RESTARTS | {"restart-strategy.fixed-delay.delay": "500 ms"}
    with serving(poison_record, **settings) as job, visitor(browser, job.address) as anna:
        anna.follows("fails for the same record: 77")
        failure = anna.page.get_by_role("region", name="Failures").locator("details").first
        failure.get_by_text("ValueError: no such customer").first.wait_for()
        failure.get_by_text("operator look up, subtask 0").wait_for()
        assert failure.locator("dd").inner_text() == "77"
        assert 'raise ValueError("no such customer")' in failure.locator("pre").inner_text()


class FailsSometimes(MapFunction):
    """Fails a while after each start, for another record each time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._began_s = time.monotonic()

    def map(self, value: Any) -> Any:
        if time.monotonic() > self._began_s + 0.5:
            raise ConnectionError(f"the price service refused the connection for {value} at {time.monotonic()}")
        return value


def restart_loop(env: StreamExecutionEnvironment) -> None:
    numbers(env).map(FailsSometimes()).name("price").filter(lambda _: False).print()


def test_a_restart_loop(browser: Browser) -> None:
    settings = RESTARTS | {"restart-strategy.fixed-delay.delay": "200 ms"}
    with serving(restart_loop, **settings) as job, visitor(browser, job.address) as anna:
        anna.follows("times in 1 min, last: ConnectionError: the price service refused the connection")
        anna.page.get_by_role("img", name="attempts since").wait_for()
        ended = anna.page.get_by_role("region", name="Attempts").get_by_text("failed: ConnectionError")
        ended.nth(1).wait_for()


IN_FILES = "execution.checkpointing.data-inline-threshold"
CHECKPOINTS = {"execution.checkpointing.interval": "500 ms"}


def counting(env: StreamExecutionEnvironment) -> None:
    numbers(env).key_by(lambda number: number % 3).process(Count()).name("counter").filter(lambda _: False).print()


def test_a_failing_checkpoint(browser: Browser) -> None:
    patience = {
        "execution.checkpointing.timeout": "50 ms",
        "execution.checkpointing.tolerable-failed-checkpoints": "1000",
    }
    with serving(slow_sink, **CHECKPOINTS, **patience) as job, visitor(browser, job.address) as anna:
        anna.follows("checkpoints failed: ")
        anna.page.get_by_role("alert").get_by_text("It failed: ").wait_for()


@pytest.mark.soak
def test_slow_storage(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = FileSystemStore.write

    def slowly(self: FileSystemStore, path: str, *rest: Any, **others: Any) -> Any:
        if "_metadata" not in path and "chk-" in path:
            time.sleep(2.5)
        return write(self, path, *rest, **others)

    monkeypatch.setattr(FileSystemStore, "write", slowly)
    settings = CHECKPOINTS | {"headgate.storage.dir": str(tmp_path), IN_FILES: "0"}
    with serving(counting, **settings) as job, visitor(browser, job.address) as anna:
        anna.follows("the storage is slow")
        anna.page.get_by_role("region", name="Checkpoint").get_by_text("the storage is slow").wait_for()
