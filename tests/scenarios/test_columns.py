"""Columns that a source hands on: they stay columns over an exchange and in flight, and give the records they hold."""

from __future__ import annotations

import pickle
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.checkpoint.handles import InFlightState
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.source import FileSource
from headgate.datastream import SinkFunction, StreamExecutionEnvironment
from headgate.elements import Batch
from headgate.functions.context import Context
from headgate.state.files import InlineHandle
from tests.scenarios.runs import Runs

ROWS: Final = 1200
UNALIGNED: Final = {
    "execution.checkpointing.unaligned.enabled": "true",
    "execution.checkpointing.data-inline-threshold": "1 mb",
    "headgate.batch.records": "8",
}
HURRY: Final = threading.Event()
"""Nothing is slow any more."""
SEEN: list[tuple[int, str]] = []


class Keeping(SinkFunction):
    """Notes all records."""

    def invoke(self, value: Any, context: Context) -> None:
        SEEN.append(value)


def slow(row: Any) -> tuple[int, str]:
    if not HURRY.is_set():
        time.sleep(0.01)
    return row["number"], row["word"]


@pytest.fixture(autouse=True)
def _slowly() -> Iterator[None]:
    HURRY.clear()
    SEEN.clear()
    yield
    HURRY.set()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A folder of Parquet with some row groups."""
    folder = tmp_path / "table"
    folder.mkdir()
    columns = {"number": list(range(ROWS)), "word": [f"word-{number}" for number in range(ROWS)]}
    pq.write_table(pa.table(columns), folder / "a.parquet", row_group_size=300)
    return folder


def pipeline(env: StreamExecutionEnvironment, table: Path) -> None:
    source = FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(table)).build()
    rows = env.from_source(source, None, "rows").uid("rows").set_parallelism(1)
    rows.rebalance().map(slow).uid("slow").add_sink(Keeping()).uid("sink")


def expected() -> Counter[tuple[int, str]]:
    return Counter((number, f"word-{number}") for number in range(ROWS))


def batches(part: InFlightState) -> list[Batch]:
    assert isinstance(part.handle, InlineHandle)
    assert part.arrow
    return [Batch.decode(payload) for payload in pickle.loads(part.handle.data)]  # noqa: S301


@pytest.mark.parametrize("parallelisms", [(2, 3), (3, 1)], ids=str)
@pytest.mark.slow
def test_columns_in_flight_go_on_at_another_parallelism(
    parallelisms: tuple[int, int], table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **UNALIGNED)
    env = runs.environment(parallelisms[0])
    pipeline(env, table)
    runs.stop(env)
    flown = [batch for part in runs.manifests()[-1].in_flight for batch in batches(part)]
    assert flown
    assert not any(batch.columns is None for batch in flown)
    restored = {row["number"] for batch in flown for row in batch.records}
    before = set(SEEN)
    SEEN.clear()
    HURRY.set()
    env = runs.environment(parallelisms[1])
    pipeline(env, table)
    runs.finish(env)
    again = Counter(SEEN)
    assert restored <= {number for number, _ in again}
    assert set(again.values()) == {1}
    assert before | set(again) == set(expected())


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_columns_give_all_their_records(
    mode: str, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    HURRY.set()
    env = Runs(tmp_path, monkeypatch).environment(2, **{"execution.runtime-mode": mode})
    pipeline(env, table)
    env.execute()
    assert Counter(SEEN) == expected()
