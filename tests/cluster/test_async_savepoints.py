"""Jobs on Spark that are stopped with a savepoint while calls are in flight, and go on from it: each result once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.common import Configuration, Time, Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.state import ValueStateDescriptor
from headgate.elements import SavepointFormat
from tests.scenarios.runs import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RECORDS, PER_SECOND, KEYS = 1_200, 400, 7


class Service:
    """Answers some of those who ask only once its gate is open, and leaves a file when the first of them asks."""

    def __init__(self, folder: Path, name: str, numbers: range) -> None:
        self.gate = folder / "gate"
        self.asked = folder / name
        self.numbers = numbers

    async def ask(self, number: int) -> None:
        if number in self.numbers:
            self.asked.touch()
            while not self.gate.exists():
                await asyncio.sleep(0.02)


class Asks(AsyncFunction):
    """Asks about each number, and gives it back."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def async_invoke(self, value: int) -> Iterable[int]:
        await self.service.ask(value)
        return [value]


class Counts(KeyedProcessFunction):
    """Counts the numbers of each key; asks about each between reading the count and writing it."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    async def process_element(self, value: int, ctx: Any) -> AsyncIterator[str]:  # type: ignore[override]
        count = (await self.count.async_value() or 0) + 1
        await self.service.ask(value)
        await self.count.async_update(count)
        yield f"{value} {ctx.get_current_key()} {count}"


class Jobs:
    """Jobs in a folder, that write what they commit into files there."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self.counting = Service(folder, "counting", range(50, 100))
        self.calling = Service(folder, "calling", range(100, RECORDS))

    def start(self, **settings: str) -> Any:
        conf = {"execution.checkpointing.interval": "100 ms", "restart-strategy.type": "none"}
        given = Configuration.from_dict(conf | settings)
        env = StreamExecutionEnvironment.get_execution_environment(given, self._spark).set_parallelism(2)
        numbers = env.from_source(DataGeneratorSource(lambda index: index, RECORDS, PER_SECOND), None, "numbers")
        called = AsyncDataStream.unordered_wait(numbers.uid("numbers"), Asks(self.calling), Time.minutes(5), RECORDS)
        keyed = called.uid("called").key_by(lambda number: number % KEYS)
        counted = keyed.enable_async_state().process(Counts(self.counting)).uid("counted")
        sink = FileSink.for_row_format(str(self._folder / "out"), Encoder.simple_string_encoder()).build()
        counted.sink_to(sink).uid("sink")
        return env.submit()

    def stop(self, *, drain: bool) -> str:
        """Stop a job while calls of both kinds are in flight; return where its savepoint is."""
        job = self.start()
        wait_until(lambda: self.counting.asked.exists() and self.calling.asked.exists(), job)
        stopping = job.stop_with_savepoint(drain, str(self._folder / "savepoints"), SavepointFormat.CANONICAL)
        if drain:
            self.counting.gate.touch()
        location: str = stopping.result(120.0)
        assert job.wait(120.0).cause is None
        return location

    def resume(self, location: str) -> None:
        """Run a job from a savepoint to its end."""
        self.counting.gate.touch()
        outcome = self.start(**{"execution.state-recovery.path": location}).wait(120.0)
        assert (outcome.status.word, outcome.cause) == ("finished", None)

    def committed(self) -> list[tuple[int, int, int]]:
        """Return what has been committed, by whichever job: numbers, each with its key and the key's count."""
        files = (path for path in (self._folder / "out").rglob("*") if path.is_file() and path.name[0] not in "._")
        lines = [line.split() for path in files for line in path.read_text().splitlines()]
        return sorted((int(number), int(key), int(count)) for number, key, count in lines)

    def committed_of(self, service: Service) -> list[int]:
        """Return the numbers that have been committed for which a service waits for its gate."""
        return [number for number, _, _ in self.committed() if number in service.numbers]

    def check_all(self) -> None:
        """Assert that each number has been committed once, and counted once."""
        committed = self.committed()
        assert [number for number, _, _ in committed] == list(range(RECORDS))
        counted = sorted((key, count) for _, key, count in committed)
        assert counted == sorted((number % KEYS, number // KEYS + 1) for number in range(RECORDS))


@pytest.mark.soak
def test_a_stopped_job_makes_the_calls_in_flight_again(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark, tmp_path)
    location = jobs.stop(drain=False)
    assert not jobs.committed_of(jobs.counting)
    assert not jobs.committed_of(jobs.calling)
    jobs.resume(location)
    jobs.check_all()


def test_a_drained_job_waits_for_the_calls_in_flight(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark, tmp_path)
    location = jobs.stop(drain=True)
    assert jobs.committed_of(jobs.counting)
    assert jobs.committed_of(jobs.calling)
    jobs.resume(location)
    jobs.check_all()
