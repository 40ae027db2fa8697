"""The contract of sinks, on PySpark's stream writers as a sink drives them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import DataSourceStreamWriter

from headgate.datastream.connectors.spark import SparkSink
from headgate.testing.contracts.sink import (
    SINK_CHECKS,
    SinkCase,
    SinkTarget,
    check_a_job_back_from_a_backup_writes_all_its_records,
    check_what_others_wrote_stays,
)
from headgate.types.row import Row
from headgate.types.typeinfo import Types
from tests.sample_size import sample_size
from tests.stream_writers import BatchFile, StagedFiles, rows_in

ROW = Row("number", "word")
RECORDS = [ROW(number, f"word-{number % 3}") for number in range(16)]
TYPE = Types.ROW_NAMED(["number", "word"], [Types.LONG(), Types.STRING()])


class OftenAway(StagedFiles):
    """Cannot commit while there is a file `away` in its folder."""

    def commit(self, messages: Any, batchId: int) -> None:
        if (self.folder / "away").exists():
            raise OSError("the folder is away")
        super().commit(messages, batchId)


def case_of(writer: Callable[[str], DataSourceStreamWriter], tmp_path: Path) -> SinkCase:
    numbers = itertools.count()

    def fresh() -> SinkTarget:
        folder = tmp_path / str(next(numbers))
        sink = SparkSink.for_writer(writer(str(folder)), TYPE, idempotent_commit=True)

        def be_away(away: bool) -> None:
            (folder / "away").touch() if away else (folder / "away").unlink()

        def read() -> list[Any]:
            return [ROW(*row.values()) for row in rows_in(folder)]

        return SinkTarget(sink=sink, read=read, be_away=be_away if writer is OftenAway else None)

    return SinkCase(fresh=fresh, records=RECORDS, histories=sample_size(40))


@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
def test_a_writer_whose_commit_is_idempotent_by_its_messages(check: Callable[[SinkCase], Any], tmp_path: Path) -> None:
    check(case_of(OftenAway, tmp_path))


@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
def test_a_writer_whose_commit_is_idempotent_by_batch_id(check: Callable[[SinkCase], Any], tmp_path: Path) -> None:
    if check is check_what_others_wrote_stays:
        pytest.skip("it commits one checkpoint of two subtasks in two steps, as no driver does")
    if check is check_a_job_back_from_a_backup_writes_all_its_records:
        pytest.skip("ids count once more in a folder that is back from a backup, as the guide says")
    check(case_of(BatchFile, tmp_path))
