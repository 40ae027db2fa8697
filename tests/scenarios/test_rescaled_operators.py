"""What operators keep goes on at another parallelism: the job yields what it would have without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Time, Types, WatermarkStrategy
from headgate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.datastream.functions import KeyedBroadcastProcessFunction
from headgate.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.datastream.window import TumblingProcessingTimeWindows
from tests.scenarios.halting import GO_ON, MAY_END, all_halted
from tests.scenarios.rescaled import Change, Rescaled, Streams, finished, into_files, lines, on_every_change
from tests.scenarios.runs import wait_until
from tests.simulation import join_programs, pattern_programs, window_programs

pytestmark = pytest.mark.slow

COUNT: Final = 200
KEYS: Final = 7


def numbers(env: StreamExecutionEnvironment, name: str = "numbers", count: int = COUNT) -> DataStream:
    """Return numbers, each with itself as its time."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda number, _: number)
    return env.from_source(NumberSequenceSource(0, count - 1), strategy, name)


def key_of(number: int) -> int:
    return number % KEYS


def joins(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Joins of each kind."""
    return {program.__name__: program(env) for program in join_programs.PROGRAMS}


def patterns(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Patterns, of which matches are under way."""
    return {"pattern": pattern_programs.pattern(env), "groups": pattern_programs.groups(env)}


# --- broadcast state

RULES: Final = MapStateDescriptor("rules", Types.LONG(), Types.LONG())


class Ruled(KeyedBroadcastProcessFunction[int, int, int, Any]):
    """Keeps numbers until all rules are there, and yields each with the rules, and how often each was told."""

    def process_element(self, value: int, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        ctx.timer_service().register_event_time_timer(10**6 + value)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp - 10**6, sorted(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: int, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value, (rules.get(value) or 0) + 1)


def broadcast(env: StreamExecutionEnvironment) -> DataStream:
    """Numbers with rules, of which half are told before the job goes on."""
    rules = numbers(env, "rules", 48).broadcast(RULES)
    return numbers(env).key_by(key_of).connect(rules).process(Ruled())


# --- inputs that wait


async def may_go_on() -> None:
    """Wait until the job runs at its last parallelism."""
    while not GO_ON.is_set():
        await asyncio.sleep(0.005)


class Squares(AsyncFunction):
    """Has no answer before the job has gone on."""

    async def async_invoke(self, value: int) -> list[Any]:
        await may_go_on()
        return [(value, value**2)]


class Totals(KeyedProcessFunction):
    """Keeps a total, which awaits between reading and writing; a timer yields it at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    async def process_element(self, value: int, ctx: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        total = await self.total.async_value() or 0
        if value > 4 * KEYS:
            await may_go_on()
        await self.total.async_update(total + value)
        ctx.timer_service().register_event_time_timer(10**6)
        yield "of", value

    async def on_timer(self, timestamp: int, ctx: Any) -> list[Any]:  # type: ignore[override]
        return [(ctx.get_current_key(), await self.total.async_value())]


async def halves(records: list[int]) -> list[float]:
    await may_go_on()
    return [record / 2 for record in records]


def waiting(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Asynchronous calls of each kind, which are under way when the job goes on."""
    keyed = numbers(env, "keyed").key_by(key_of)
    return {
        "in order": AsyncDataStream.ordered_wait(numbers(env, "ordered"), Squares(), Time.minutes(2), COUNT),
        "by key": AsyncDataStream.unordered_wait(keyed, Squares(), Time.minutes(2), COUNT),
        "with state": keyed.enable_async_state().process(Totals()),
        "in batches": numbers(env, "batches").map_batches(halves, batch_size=8, concurrency=COUNT),
    }


PROGRAMS: Final[list[Callable[[StreamExecutionEnvironment], Streams]]] = [
    window_programs.event_time,
    joins,
    patterns,
    broadcast,
    waiting,
]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], list[str]]:
    """Return what a program yields that nobody stops."""

    @cache
    def of(program: Any) -> list[str]:
        folder = tmp_path_factory.mktemp(program.__name__)
        Rescaled(folder, lambda env: into_files(program(env), folder / "out")).run_undisturbed()
        return lines(folder / "out")

    return of


@on_every_change
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_yields_the_same(
    program: Any, change: Change, undisturbed: Callable[[Any], list[str]], tmp_path: Path
) -> None:
    Rescaled(tmp_path, lambda env: into_files(program(env), tmp_path / "out")).run(change)
    assert lines(tmp_path / "out") == undisturbed(program)


# --- by the clock


class Reminding(KeyedProcessFunction):
    """Keeps numbers until a timer of the clock fires after the job has gone on; sets another one each time before."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.kept = runtime_context.get_list_state(ListStateDescriptor("kept", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        self.kept.add(value)
        self._remind(ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> list[Any]:
        if not GO_ON.is_set():
            self._remind(ctx)
            return []
        kept = list(self.kept.get())
        self.kept.clear()
        return kept

    def _remind(self, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 5)


class Each(ProcessWindowFunction[int, int, int, Any]):
    """Yields the numbers of a window."""

    def process(self, key: int, context: Any, elements: Iterable[int]) -> Iterable[int]:
        return elements


@on_every_change
def test_timers_and_windows_of_the_clock_yield_each_number_once(change: Change, tmp_path: Path) -> None:
    def program(env: StreamExecutionEnvironment) -> None:
        keyed = numbers(env).key_by(key_of)
        windows = keyed.window(TumblingProcessingTimeWindows.of(Time.milliseconds(100))).process(Each())
        into_files({"timers": keyed.process(Reminding()), "windows": windows}, tmp_path / "out")

    expected = sorted(f"{name} {number}" for name in ("timers", "windows") for number in range(COUNT))
    way, before, after = change
    rescaled = Rescaled(tmp_path, program, None, **{"execution.checkpointing.interval": "20 ms"})
    job = rescaled.begin(before)
    MAY_END.clear()  # timers of the clock that are not due before the input ends never fire
    wait_until(all_halted, job)
    job = rescaled.go_on(job, way, after)
    wait_until(lambda: lines(tmp_path / "out") == expected, job)
    MAY_END.set()
    finished(job)
    assert lines(tmp_path / "out") == expected
