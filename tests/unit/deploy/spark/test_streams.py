"""What a streaming query's own storage says, read without Spark, and options that make no sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.micro_batches.protocol import Record
from headgate.deploy.spark.dataframes.streams import SparkQuery, StreamOptions
from headgate.errors import ProgramError, StorageError

QUERY = "4bd39b5c-8b04-4b46-9e2f-30bb4f4ad0f1"


def query(folder: Path) -> SparkQuery:
    frame: Any = None  # which reading the record does not need
    return SparkQuery(frame, str(folder), StreamOptions())


def note(folder: Path, metadata: str, **logs: list[str]) -> None:
    """Leave what Spark would, the checksums of Hadoop's local file system included."""
    for log, names in logs.items():
        (folder / "query" / log).mkdir(parents=True)
        for name in names:
            (folder / "query" / log / name).touch()
    (folder / "query").mkdir(exist_ok=True)
    (folder / "query" / "metadata").write_text(metadata)


def test_a_query_that_has_never_run_has_no_record(tmp_path: Path) -> None:
    assert query(tmp_path).record() == Record()


def test_a_query_that_has_no_batch_yet_has_an_id(tmp_path: Path) -> None:
    note(tmp_path, json.dumps({"id": QUERY}))
    assert query(tmp_path).record() == Record(query=QUERY)


def test_the_newest_batches_count_as_numbers(tmp_path: Path) -> None:
    commits = ["8", "9", "10", ".10.crc", ".11.tmp"]
    note(tmp_path, json.dumps({"id": QUERY}), offsets=["9", "10", "11", ".11.crc"], commits=commits)
    assert query(tmp_path).record() == Record(query=QUERY, planned=11, acknowledged=10)


@pytest.mark.parametrize("metadata", ["", "{", '{"name": 1}', "[]"])
def test_a_record_that_cannot_be_read_is_an_error_by_its_place(tmp_path: Path, metadata: str) -> None:
    note(tmp_path, metadata)
    with pytest.raises(StorageError, match=f"record at {tmp_path}/query"):
        query(tmp_path).record()


def test_no_query_runs_without_a_core() -> None:
    with pytest.raises(ProgramError, match="free_cores=0: Spark needs one core at least"):
        StreamOptions(free_cores=0)
