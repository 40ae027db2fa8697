"""What commands say of a checkpoint whose barrier waits behind slow calls, and of a savepoint that contains calls."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.common import Time
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from tests.unit.cli.commands import headgate
from tests.unit.web.served import serving, until

CHECKPOINTS: Final = {"execution__checkpointing__interval": "100 ms"}


class Score(AsyncFunction):
    """Takes a second for each call."""

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(1.0)
        return [value]


def scoring(env: StreamExecutionEnvironment, *, capacity: int, per_second: float) -> None:
    """Asks a slow service about numbers, without end."""
    env.set_parallelism(1)
    numbers = env.from_source(RateLimitedSource(NumberSequenceSource(0, 10**9), per_second), None, "numbers")
    scored = AsyncDataStream.unordered_wait(numbers.rebalance(), Score(), Time.minutes(1), capacity)
    scored.name("score").filter(lambda _: False).print()


@pytest.fixture(autouse=True)
def run_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))


def words(out: str) -> str:
    """What was printed, however it was broken into lines."""
    return " ".join(out.split())


@pytest.mark.slow
def test_a_barrier_that_waits_behind_records_is_told_while_it_waits() -> None:
    with serving(partial(scoring, capacity=1, per_second=1000.0), **CHECKPOINTS) as job:
        told = "the barrier waits behind 'score"
        until(lambda: told in headgate("checkpoints", "word-count").out)
        history = job.get("/jobs/JOB/checkpoints")["history"]
        wait = history[0]["barrier_wait"]
        assert wait["records"] > 1
        assert wait["text"].startswith(told)
        assert told in headgate("checkpoints", "word-count", "--details", str(history[0]["id"])).out
        until(
            lambda: (
                f"Checkpoint {history[0]['id']}: {told}"
                in " ".join(headgate("top", "--once", "word-count").out.split())
            )
        )


def test_a_stop_with_savepoint_says_how_many_calls_the_savepoint_contains(tmp_path: Path) -> None:
    program = partial(scoring, capacity=100, per_second=20.0)
    with serving(program, headgate__storage__dir=str(tmp_path / "storage"), **CHECKPOINTS) as job:
        until(lambda: any(each["pending_inputs"] > 2 for each in job.get("/jobs/JOB/checkpoints")["history"]))
        done = headgate("stop", "--savepointPath", str(tmp_path / "here"), "word-count")
    assert done.code == 0
    assert "Savepoint completed. Path: " in done.out
    assert "calls that had not ended: a job that starts from it makes them again" in words(done.out)
