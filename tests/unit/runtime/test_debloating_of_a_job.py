"""Checkpoints of a job whose slowest operator takes a fraction of what its source could read: barriers wait briefly."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from headgate.clock import VirtualClock
from headgate.common import Time, WatermarkStrategy
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import AsyncDataStream, AsyncFunction, DataStream, MapFunction
from headgate.operators.collect import CollectFactory
from tests.unit.datastream.environments import environment
from tests.unit.runtime.masters import MasterRig

PER_SECOND: Final = 49
CLOCK: list[VirtualClock] = []


class Slow(MapFunction):
    """Blocks the slot for each record, by the virtual clock."""

    def map(self, value: int) -> int:
        CLOCK[0].advance(1000.0 / PER_SECOND)
        return value


class Service(AsyncFunction):
    """A service that answers so many calls in a second, in order."""

    def __init__(self) -> None:
        self._free_s = 0.0

    async def async_invoke(self, value: int) -> list[int]:
        now_s = asyncio.get_running_loop().time()
        self._free_s = max(self._free_s, now_s) + 1.0 / PER_SECOND
        await asyncio.sleep(self._free_s - now_s)
        return [value]


def blocking(numbers: DataStream) -> DataStream:
    return numbers.map(Slow())


def asking(numbers: DataStream) -> DataStream:
    return AsyncDataStream.unordered_wait(numbers, Service(), Time.minutes(10))


def expanding(numbers: DataStream) -> DataStream:
    """The records come from a flat map that makes 20 of each, and go to the slow operator by key."""
    return numbers.flat_map(lambda number: [number] * 20).key_by(lambda number: number).map(Slow())


def after_others(numbers: DataStream) -> DataStream:
    """Two fast operators are between the source and the slow one, and take what comes in bursts."""
    return numbers.map(lambda value: value).rebalance().map(lambda value: value).rebalance().map(Slow())


def job(slow: Any, **settings: str) -> MasterRig:
    env = environment(execution__checkpointing__interval="1 s", **settings)
    source = DataGeneratorSource(int, 10**9)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").set_parallelism(1)
    slow(numbers.rebalance()).filter(lambda _: False)._end("collect", CollectFactory())
    rig = MasterRig(env.job_graph())
    CLOCK[:] = [rig.clock]
    rig.master.submit()
    return rig


def durations_ms(rig: MasterRig) -> list[float]:
    return [figures.duration_ms for figures in rig.master.progress.statistics.figures]


@pytest.mark.slow
@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("slow", [blocking, asking, expanding, after_others])
def test_a_barrier_waits_about_the_target_time_behind_a_slow_operator(slow: Any, parallelism: int) -> None:
    rig = job(slow, parallelism__default=str(parallelism))
    try:
        rig.run_until(lambda: len(durations_ms(rig)) >= 8)
        assert max(durations_ms(rig)) < 15_000
        assert max(durations_ms(rig)[-3:]) < 2_500
    finally:
        rig.master.cancel()
        rig.end()
