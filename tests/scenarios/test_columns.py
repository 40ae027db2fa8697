"""Whole jobs whose records travel as columns of Arrow until an operator reads them as rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.common import Configuration, Row, WatermarkStrategy
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.source import FileSource
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.functions import MapFunction

ROWS: Final = 4000
FAULTS: list[int] = []


class Numbers(MapFunction):
    """Slow, so that barriers overtake, and fails where that is planned."""

    def map(self, value: Row) -> str:
        if value.n % 50 == 0:
            time.sleep(0.001)
        if value.n in FAULTS:
            FAULTS.remove(value.n)
            raise ValueError(f"planned at {value.n}")
        return f"{value.n} {value.text}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    FAULTS.clear()
    (tmp_path / "in").mkdir()
    for file in range(2):
        numbers = range(file, ROWS, 2)
        table = pa.table({"n": pa.array(numbers, pa.int64()), "text": [f"row {number}" for number in numbers]})
        pq.write_table(table, tmp_path / "in" / f"{file}.parquet", row_group_size=500)
    return tmp_path


def output(folder: Path, parallelism: int, **settings: str) -> list[str]:
    configuration = Configuration.from_dict(
        {
            "headgate.deploy.target": "minicluster",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "headgate.batch.records": "64",
            **settings,
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)
    source = FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(folder / "in")).build()
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
    return list(rows.rebalance().map(Numbers()).execute_and_collect())


EXPECTED: Final = sorted(f"{number} row {number}" for number in range(ROWS))


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_rows_are_those_of_the_file(mode: str, folder: Path) -> None:
    assert sorted(output(folder, 2, **{"execution.runtime-mode": mode})) == EXPECTED


def test_columns_in_flight_are_restored(folder: Path) -> None:
    FAULTS.extend([700, 1900, 3100])
    settings = {
        "execution.checkpointing.interval": "10 ms",
        "execution.checkpointing.unaligned.enabled": "true",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "9",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    assert sorted(output(folder, 2, **settings)) == EXPECTED
    assert FAULTS == []
