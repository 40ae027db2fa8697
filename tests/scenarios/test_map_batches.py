"""Whole jobs that call functions for batches, in both modes: calls and jobs fail, and are stopped meanwhile."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headgate.common import Configuration, Row, Time, Types
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.datastream import AsyncRetryStrategy, StreamExecutionEnvironment
from headgate.datastream.async_retry_predicates import retry_after_predicate
from headgate.datastream.async_retry_strategies import RetryAfter
from headgate.elements import SavepointFormat
from tests.scenarios.ledger import numbers

COUNT: Final = 200
FAULTS: list[int] = []
"""Records at which the job is still to fail, once each."""
REFUSED: set[int] = set()
MADE: list[Any] = []
GATE: Final = threading.Event()
UNDER_WAY: set[int] = set()


class Squares:
    """Squares numbers on a thread."""

    def __init__(self) -> None:
        MADE.append(self)

    def __call__(self, records: list[int]) -> list[tuple[int, int]]:
        self.fail_where_planned(records)
        return [(record, record**2) for record in records]

    def fail_where_planned(self, records: list[int]) -> None:
        planned = next((record for record in records if record in FAULTS), None)
        if planned is not None:
            FAULTS.remove(planned)
            raise ValueError(f"planned at {planned}")

    def close(self) -> None:
        MADE.remove(self)


class SquaresLater(Squares):
    """Squares numbers after a while; refuses each batch of which the first number is a multiple of three, once."""

    async def __call__(self, records: list[int]) -> list[tuple[int, int]]:  # type: ignore[override]
        await asyncio.sleep(0.001)
        if records[0] % 3 == 0 and records[0] not in REFUSED:
            REFUSED.add(records[0])
            raise RetryAfter(0.002)
        return super().__call__(records)


REFUSALS: Final = AsyncRetryStrategy.fixed_delay(2, 1, None, retry_after_predicate)
EXPECTED: Final = [(number, number**2) for number in range(COUNT)]


def environment(folder: Path, **settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict(
        {
            "headgate.deploy.target": "minicluster",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
            "headgate.batch.records": "32",
            **settings,
        }
    )
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def squares(folder: Path, func: type[Squares], settings: dict[str, str], *, keyed: bool = False) -> list[Any]:
    """Run the job; return what it collects."""
    REFUSED.clear()
    stream = environment(folder, **settings).from_collection(list(range(COUNT))).rebalance().map(int)
    if keyed:
        stream = stream.key_by(lambda number: number % 7)
    scored = stream.map_batches(
        func,
        return_dtype=Types.TUPLE([Types.LONG(), Types.LONG()]),
        concurrency=2,
        batch_size=8,
        max_wait=Time.milliseconds(5),
        timeout=Time.minutes(2),
        async_retry_strategy=REFUSALS,
        calls_per_second=10_000,
    )
    return sorted(scored.execute_and_collect())


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("func", [Squares, SquaresLater])
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_every_record_has_its_result(func: type[Squares], mode: str, keyed: bool, tmp_path: Path) -> None:
    assert squares(tmp_path, func, {"execution.runtime-mode": mode}, keyed=keyed) == EXPECTED
    assert MADE == [], "each instance is closed"


@pytest.mark.parametrize("func", [Squares, SquaresLater])
@pytest.mark.parametrize("unaligned", ["true", "false"])
def test_failures_lose_and_double_nothing(func: type[Squares], unaligned: str, tmp_path: Path) -> None:
    FAULTS[:] = [20, 100, 190]
    settings = {
        "execution.checkpointing.interval": "10 ms",
        "execution.checkpointing.unaligned.enabled": unaligned,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "9",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    assert squares(tmp_path, func, settings) == EXPECTED
    assert FAULTS == []
    assert MADE == []


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_an_error_names_the_operator_and_the_records_of_the_batch(mode: str, tmp_path: Path) -> None:
    FAULTS[:] = [5]
    with pytest.raises(Exception, match=r"ValueError: planned at 5 \(in a batch of 8 records\)") as failure:
        squares(tmp_path, Squares, {"execution.runtime-mode": mode})
    assert "'MapBatches'" in str(failure.value)
    assert re.search(r"record: \[(\d+, )*5, ", str(failure.value))


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_arrow_batches_go_in_and_come_out(mode: str, tmp_path: Path) -> None:
    def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"id": batch["id"], "twice": pc.multiply(batch["price"], 2.0)})

    env = environment(tmp_path, **{"execution.runtime-mode": mode})
    orders = env.from_collection(
        [(number, number / 4) for number in range(50)], Types.ROW_NAMED(["id", "price"], [Types.LONG(), Types.DOUBLE()])
    )
    twice = Types.ROW_NAMED(["id", "twice"], [Types.LONG(), Types.DOUBLE()])
    found = list(orders.map_batches(doubled, return_dtype=twice, batch_format="arrow").execute_and_collect())
    assert sorted(found, key=lambda row: row.id) == [Row(id=number, twice=number / 2) for number in range(50)]


async def gated(records: list[int]) -> list[int]:
    """Answer nothing before the test opens the gate."""
    UNDER_WAY.update(records)
    while not GATE.is_set():
        await asyncio.sleep(0.002)
    return records


def gated_job(folder: Path, **settings: str) -> Any:
    """Start a job whose calls wait for the gate; what they return goes to files."""
    env = environment(folder, **settings).set_parallelism(1)  # in one chain: no record waits before a barrier
    called = numbers(env, COUNT, COUNT).map_batches(gated, batch_size=4, concurrency=2)
    sink = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()
    called.uid("calls").sink_to(sink).uid("sink")
    return env.submit()


def committed(folder: Path) -> list[int]:
    files = (path for path in (folder / "out").rglob("*") if path.is_file() and path.name[0] not in "._")
    return sorted(int(line) for path in files for line in path.read_text().splitlines())


def test_a_stop_waits_for_no_batch_and_the_next_job_calls_for_them_again(tmp_path: Path) -> None:
    GATE.clear()
    UNDER_WAY.clear()
    job = gated_job(tmp_path)
    while len(UNDER_WAY) < 8:
        assert job.wait(0.005) is None, job.wait()
    location = job.stop_with_savepoint(False, None, SavepointFormat.CANONICAL).result(120.0)
    assert job.wait(120.0).status.word == "finished"
    assert committed(tmp_path) == []
    GATE.set()
    resumed = gated_job(tmp_path, **{"execution.state-recovery.path": location}).wait(120.0)
    assert (resumed.status.word, resumed.cause) == ("finished", None)
    assert committed(tmp_path) == list(range(COUNT))


def test_a_checkpoint_does_not_wait_for_a_function_that_blocks(tmp_path: Path) -> None:
    GATE.clear()
    UNDER_WAY.clear()
    env = environment(tmp_path).set_parallelism(1)
    numbers(env, COUNT, COUNT).map_batches(Blocks(), batch_size=4).uid("calls").print().uid("print")
    job = env.submit()
    while not UNDER_WAY:
        assert job.wait(0.005) is None, job.wait()
    job.stop_with_savepoint(False, None, SavepointFormat.CANONICAL).result(120.0)
    assert not GATE.is_set()
    GATE.set()
    outcome = job.wait(120.0)
    assert outcome is not None
    assert outcome.status.word == "finished"


class Blocks:
    """Blocks its thread until the test opens the gate."""

    def __call__(self, records: list[int]) -> list[int]:
        UNDER_WAY.update(records)
        assert GATE.wait(60.0)
        return records
