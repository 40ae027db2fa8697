"""What sinks have prepared is committed once, whatever the parallelism of the job that goes on with it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from headgate.common import Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.delta import DeltaSink
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.sink import FileSink
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.connectors.spark import SparkSink
from headgate.functions.sink import Sink
from headgate.operators.collect import CollectFactory
from tests.scenarios.halting import GO_ON, MAY_END
from tests.scenarios.rescaled import (
    Change,
    Rescaled,
    Way,
    changes,
    finished,
    into_files,
    leave_commits_to_others,
    lines,
    rescale,
)
from tests.scenarios.test_micro_batches import until_checkpoints
from tests.stream_writers import BatchFile, StagedFilesSource, rows_in

pytestmark = pytest.mark.slow

COUNT: Final = 300
TYPE: Final = Types.ROW_NAMED(["number", "word"], [Types.LONG(), Types.STRING()])


class Rig:
    """A job with a sink of each kind, and what their readers see."""

    def __init__(self, folder: Path, rate: float | None = None, **settings: str) -> None:
        self.folder = folder
        self.numbers = DataGeneratorSource(lambda index: index, COUNT, rate)
        self.rescaled = Rescaled(folder, self._program, COUNT, **settings)

    def _program(self, env: StreamExecutionEnvironment) -> None:
        numbers = env.from_source(self.numbers, None, "numbers").uid("numbers").rebalance()
        into_files(numbers, self.folder / "lines")
        rows = numbers.map(lambda number: (number, f"word {number}")).uid("rows")
        columns = FileSink.for_bulk_format(str(self.folder / "columns"), BulkWriterFactory.parquet_writer(TYPE))
        staging = {"path": self.folder / "staged"}
        sinks: dict[str, Sink[Any]] = {
            "columns": columns.build(),
            "delta": DeltaSink(self.folder / "delta", TYPE),
            "staged": SparkSink.for_data_source(StagedFilesSource, TYPE, options=staging, idempotent_commit=True),
            "batches": SparkSink.for_writer(BatchFile(str(self.folder / "batches")), TYPE, idempotent_commit=True),
        }
        for name, sink in sinks.items():
            rows.sink_to(sink).uid(name)
        rows._end("collect", CollectFactory())

    def seen(self) -> dict[str, list[int]]:
        """Return the numbers that have come out of each sink, in their order; the jobs have ended."""
        numbers: dict[str, Iterable[int]] = {
            "lines": map(int, lines(self.folder / "lines")),
            "columns": _numbers(ds.dataset(self.folder / "columns").to_table()),
            "delta": _numbers(DeltaTable(self.folder / "delta").to_pyarrow_table()),
            "staged": (row["number"] for row in rows_in(self.folder / "staged")),
            "batches": (row["number"] for row in rows_in(self.folder / "batches")),
        }
        return {name: sorted(found) for name, found in numbers.items()}

    def collected(self) -> list[list[int]]:
        """Return what has come to the program of each job. To be called once."""
        return [sorted(number for number, _ in job.results()) for job in self.rescaled.jobs]


def _numbers(table: pa.Table) -> list[int]:
    return table["number"].to_pylist()  # type: ignore[no-any-return]


def check(rig: Rig) -> None:
    """The program of a job that starts from a snapshot gets what that holds, whoever got it before."""
    for name, numbers in rig.seen().items():
        assert numbers == list(range(COUNT)), name
    collected = rig.collected()
    assert sorted(set(chain(*collected))) == list(range(COUNT))
    assert all(numbers == sorted(set(numbers)) for numbers in collected)


@pytest.mark.parametrize("change", changes(*Way))
def test_each_record_comes_out_of_each_sink_once(
    change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_commits_to_others(change, monkeypatch)
    rig = Rig(tmp_path)
    rig.rescaled.run(change)
    check(rig)


def test_a_job_is_rescaled_again_and_again_while_records_come_and_are_committed(tmp_path: Path) -> None:
    rig = Rig(tmp_path, 300.0, **{"execution.checkpointing.interval": "10 ms"})
    job = rig.rescaled.begin(2)
    MAY_END.clear()
    GO_ON.set()
    for parallelism in (3, 1, 2, 1, 3):
        until_checkpoints(2, job)
        rescale(job, parallelism)
    MAY_END.set()
    finished(job)
    check(rig)
