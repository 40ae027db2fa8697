"""Whole jobs of asynchronous functions with state, in both modes, on both backends; the first attempt fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from headgate.common import Configuration, Types
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import ValueStateDescriptor
from headgate.errors import ProgramError

RECORDS = [(f"key {number % 7}", number) for number in range(140)]
TOTALS = sorted((key, sum(number for other, number in RECORDS if other == key)) for key, _ in RECORDS[:7])


class Total(KeyedProcessFunction):
    """Awaits between reading and writing; emits the total of each key at the end, by a timer."""

    def __init__(self, *, fails: bool) -> None:
        self.fails = fails

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.fails &= runtime_context.get_attempt_number() == 0

    async def process_element(self, value: tuple[str, int], ctx: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        total = await self.total.async_value() or 0
        await asyncio.sleep(0.002)
        if self.fails and value[1] == 100:
            raise ValueError("the first attempt fails here")
        await self.total.async_update(total + value[1])
        ctx.timer_service().register_event_time_timer(2**60)
        yield "record", value[1]

    async def on_timer(self, timestamp: int, ctx: Any) -> list[Any]:  # type: ignore[override]
        await asyncio.sleep(0.001)
        return [("total", ctx.get_current_key(), await self.total.async_value())]


def results(conf: dict[str, str], *, fails: bool) -> list[Any]:
    given = {"headgate.deploy.target": "minicluster", "restart-strategy.type": "fixed-delay"} | conf
    given["restart-strategy.fixed-delay.delay"] = "0 s"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given)).set_parallelism(2)
    keyed = env.from_collection(RECORDS).key_by(lambda record: record[0])
    with keyed.enable_async_state().process(Total(fails=fails)).execute_and_collect() as found:
        return list(found)


def check(found: list[Any]) -> None:
    assert sorted(each[1:] for each in found if each[0] == "total") == TOTALS
    assert sorted(each[1] for each in found if each[0] == "record") == list(range(140))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_each_record_counts_once_when_the_first_attempt_fails(backend: str) -> None:
    check(results({"state.backend.type": backend, "execution.checkpointing.interval": "10 ms"}, fails=True))


def test_a_batch_job_runs_calls_of_many_keys() -> None:
    check(results({"execution.runtime-mode": "BATCH"}, fails=False))


def test_a_coroutine_is_refused_where_nothing_would_await_it() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(ProgramError, match=r"process_element\(\) of Total .* enable_async_state\(\)"):
        env.from_collection(RECORDS).key_by(lambda record: record[0]).process(Total(fails=False))
