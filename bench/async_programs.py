"""The measured programs of asynchronous calls: jobs that keep many calls in flight, and the bare asyncio loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from bench import inputs
from bench.outputs import TallySink
from bench.programs import Build
from headgate.common import Time, WatermarkStrategy
from headgate.datastream import AsyncDataStream, AsyncFunction, DataStream, StreamExecutionEnvironment
from headgate.functions.source import Source

IN_FLIGHT: Final = 10_000
CALL_S: Final = 0.05
WAYS: Final[dict[str, Callable[..., DataStream]]] = {
    "unordered": AsyncDataStream.unordered_wait,
    "ordered": AsyncDataStream.ordered_wait,
}


async def ask(value: Any, call_s: float = CALL_S) -> list[Any]:
    """Answer after a while."""
    await asyncio.sleep(call_s)
    return [value]


class Ask(AsyncFunction):
    """Makes the call for each record."""

    def __init__(self, call_s: float = CALL_S) -> None:
        self.call_s = call_s

    async def async_invoke(self, value: Any) -> list[Any]:
        return await ask(value, self.call_s)


# --- jobs


def build_calls(env: StreamExecutionEnvironment, folder: str, seconds: float, way: str) -> None:
    _build(env, folder, inputs.CycleSource(inputs.keyed_tuples, seconds), way, Ask())


def build_in_flight(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    """All calls begin at once, and last as long as the source."""
    _build(env, folder, inputs.CycleSource(inputs.keyed_tuples, seconds), "unordered", Ask(seconds))


def build_few_calls(env: StreamExecutionEnvironment, folder: str, seconds: float) -> None:
    _build(env, folder, inputs.PacedSource(10.0, seconds), "unordered", Ask())


def _build(env: StreamExecutionEnvironment, folder: str, source: Source[Any], way: str, function: Ask) -> None:
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    WAYS[way](records, function, Time.minutes(5), IN_FLIGHT).sink_to(TallySink(folder))


JOBS: dict[str, Build] = {
    **{f"calls-{way}": partial(build_calls, way=way) for way in WAYS},
    "calls in flight": build_in_flight,
    "few calls": build_few_calls,
}


# --- the bare loop


async def call_all(values: list[tuple[int, int]]) -> int:
    """Make a call for each value: one begins when another ends. Return the number of results."""
    left = iter(values)
    results = 0
    over = asyncio.Event()
    tasks: set[asyncio.Task[None]] = set()

    async def call(value: tuple[int, int]) -> None:
        nonlocal results
        answer = await ask(value)
        results += len(answer)

    def begin() -> None:
        for value in left:
            task = asyncio.get_running_loop().create_task(call(value))
            tasks.add(task)
            task.add_done_callback(end)
            return

    def end(task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        begin()
        if not tasks:
            over.set()

    for _ in range(IN_FLIGHT):
        begin()
    await over.wait()
    return results


def bare_calls() -> Callable[[], int]:
    """Return a pass over the tuples by an asyncio loop and nothing else; it returns the number of results."""
    values = inputs.keyed_tuples()
    return lambda: asyncio.run(call_all(values))


LOOPS: dict[str, Callable[[], Callable[[], int]]] = {"calls": bare_calls}
