"""Delta tables on a disk that loses what was not synced when the power goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.delta import DeltaSink
from headgate.connectors.delta.table import DataFile
from headgate.testing.contracts.sink import sink_context
from tests.delta.tables import JOB, SCHEMA, Driver, rows_of
from tests.power import disk

pytestmark = pytest.mark.slow


def secure(driver: Driver, files: list[DataFile]) -> None:
    context = sink_context(JOB)
    driver.sink.committer(context).secure(files)


def rows(*numbers: int) -> list[dict[str, Any]]:
    return [{"number": number, "word": f"word-{number % 2}"} for number in numbers]


@pytest.mark.parametrize("partition_by", [[], ["word"]])
def test_what_is_prepared_and_what_is_committed_outlives_a_loss_of_power(
    tmp_path: Path, partition_by: list[str]
) -> None:
    table = tmp_path / "table"
    with disk(tmp_path) as power:
        driver = Driver(sink=DeltaSink(table, SCHEMA, partition_by=partition_by))
        driver.sink.prepare(JOB)
        for checkpoint_id in (1, 2, 3):
            files = driver.prepared(checkpoint_id, rows(2 * checkpoint_id, 2 * checkpoint_id + 1))
            secure(driver, files)
            if checkpoint_id > 1:
                power.lose_power()
            driver.commit(checkpoint_id, files)
        power.lose_power()
        assert rows_of(table) == rows(*range(2, 8))


def test_files_that_are_gone_are_the_commits_to_tell(tmp_path: Path) -> None:
    driver = Driver(sink=DeltaSink(tmp_path / "table", SCHEMA))
    driver.sink.prepare(JOB)
    files = driver.prepared(1, rows(1))
    (tmp_path / "table" / files[0].path).unlink()
    secure(driver, files)
