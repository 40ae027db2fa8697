"""Whole jobs with operators whose results come later, in both modes, and after failures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Configuration
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.datastream.functions import MapFunction
from headgate.operators.base import Operator
from headgate.operators.pending import PendingInput, PendingOperator

COUNT: Final = 500
FAULTS: list[int] = []
LOCK: Final = threading.Lock()


class Looking(PendingOperator):
    """Looks each record up on an I/O thread."""

    def begin(self, pending: PendingInput) -> None:
        self.context.services.submit_waiting(partial(_look_up, pending.record), partial(self._found, pending))

    def _found(self, pending: PendingInput, found: Any) -> None:
        if isinstance(found, Exception):
            self.context.services.fail(found)
        else:
            self.done(pending, found)


def _look_up(record: int) -> list[str]:
    with LOCK:
        if record in FAULTS:
            FAULTS.remove(record)
            raise ValueError(f"planned at {record}")
    return [f"{record} found"]


class Factory:
    def __init__(self, *, keyed: bool) -> None:
        self.keyed = keyed

    def create(self) -> Operator:
        return Looking(4, ordered=not self.keyed, keyed=self.keyed)


class Numbered(MapFunction):
    def map(self, value: int) -> int:
        return value


@pytest.fixture(autouse=True)
def _faults() -> Iterator[None]:
    FAULTS.clear()
    yield
    FAULTS.clear()


def looked_up(tmp_path: Path, *, keyed: bool, **settings: str) -> list[str]:
    """Run the job; return what it collects."""
    configuration = Configuration.from_dict(
        {
            "headgate.deploy.target": "minicluster",
            "execution.checkpointing.dir": str(tmp_path),
            "headgate.batch.records": "32",
            **settings,
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    numbers: DataStream = env.from_collection(list(range(1, COUNT + 1))).map(Numbered())
    if keyed:
        numbers = numbers.key_by(lambda number: number % 7)
    found = numbers._then("Looking", Factory(keyed=keyed), None)
    return list(found.filter(lambda text: True).execute_and_collect())


EXPECTED: Final = sorted(f"{number} found" for number in range(1, COUNT + 1))


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_every_record_is_looked_up(keyed: bool, mode: str, tmp_path: Path) -> None:
    assert sorted(looked_up(tmp_path, keyed=keyed, **{"execution.runtime-mode": mode})) == EXPECTED


@pytest.mark.slow
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("unaligned", ["false", "true"])
def test_failures_lose_and_double_nothing(keyed: bool, unaligned: str, tmp_path: Path) -> None:
    FAULTS.extend([60, 200, 430])
    settings = {
        "execution.checkpointing.interval": "10 ms",
        "execution.checkpointing.unaligned.enabled": unaligned,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "9",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    assert sorted(looked_up(tmp_path, keyed=keyed, **settings)) == EXPECTED
    assert FAULTS == []
