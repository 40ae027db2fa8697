"""What a streaming query's own storage says, read without Spark, and options that make no sense."""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.micro_batches.feed import BatchFeed
from headgate.connectors.micro_batches.protocol import Record
from headgate.deploy.spark.dataframes.streams import SparkQuery, StreamOptions
from headgate.deploy.spark.spark_error import reason_of
from headgate.errors import ProgramError, SourceError, StorageError, SuppressRestartsException
from headgate.functions.acknowledging import SourceProgress

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


class Unstarted:
    """A query of which batches are handed over by the test."""

    def record(self) -> Record:
        return Record()

    def start(self, feed: BatchFeed) -> None:
        pass

    def stop(self) -> None:
        pass


def test_what_spark_is_told_of_a_batch_that_failed_is_a_sentence(tmp_path: Path) -> None:
    feed = BatchFeed(Unstarted(), str(tmp_path / "batches"), ends=False)
    feed.restored(SourceProgress())
    report = "An error occurred while calling o1.parquet.\n: java.io.IOException: no room\n" + "\tat java.lang.X\n" * 99
    batch: Any = FailingBatch(report)
    try:
        query(tmp_path).hand_over(feed, batch, 0)
    except SourceError:
        told = traceback.format_exc()
    assert "SourceError: no room" in told
    assert report[:40] not in told, "Spark runs out of stack when it looks through pages of it"


def test_a_query_whose_jvm_is_gone_fails_the_job(tmp_path: Path) -> None:
    feed = BatchFeed(Unstarted(), str(tmp_path / "batches"), ends=False)
    feed.restored(SourceProgress())
    running: Any = Lost()
    query(tmp_path).await_end(running, feed)
    with pytest.raises(SuppressRestartsException, match="Spark is gone"):
        feed.discover(frozenset())


@pytest.mark.parametrize("ends", ["before the write", "in the write"])
def test_a_batch_that_the_end_of_the_job_refuses_is_an_interruption_for_spark(tmp_path: Path, ends: str) -> None:
    """As Spark knows it, once it stops the query: of any other error it logs pages of Java's stack."""
    feed = BatchFeed(Unstarted(), str(tmp_path / "batches"), ends=False)
    feed.restored(SourceProgress())
    stopping = query(tmp_path)
    running: Any = Running()
    stopping._running = running
    batch: Any = FailingBatch("interrupted", lambda: feed.close() if ends == "in the write" else None)
    if ends == "before the write":
        feed.close()
    stopper = threading.Timer(0.05, stopping.stop)
    stopper.start()
    told = r"^py4j\.protocol\.Py4JJavaError: An error occurred while calling .*: java\.lang\.InterruptedException$"
    with pytest.raises(SourceError, match=told):
        stopping.hand_over(feed, batch, 0)
    assert not running.isActive
    stopper.join()


def test_a_query_is_not_stopped_in_the_middle_of_a_write(tmp_path: Path) -> None:
    feed = BatchFeed(Unstarted(), str(tmp_path / "batches"), ends=False)
    feed.restored(SourceProgress())
    stopping = query(tmp_path)
    running: Any = Running()
    stopping._running = running
    stopper = threading.Thread(target=stopping.stop)
    seen: list[bool] = []

    def write() -> None:
        feed.close()
        stopper.start()
        stopper.join(0.2)
        seen.append(running.isActive)

    batch: Any = FailingBatch("not to be told", write)
    with pytest.raises(SourceError):
        stopping.hand_over(feed, batch, 0)
    stopper.join()
    assert seen == [True]
    assert not running.isActive


class Running:
    """As a streaming query of PySpark that runs until it is stopped."""

    isActive = True

    def stop(self) -> None:
        self.isActive = False


class Lost:
    """As a streaming query of PySpark when nobody answers any more."""

    def awaitTermination(self) -> None:
        raise ConnectionRefusedError(111, "Connection refused")


class FailingBatch:
    """As a DataFrame of PySpark when Java raises, which tells of it with all of Java's stack."""

    columns = ("n",)

    def __init__(self, report: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.report = report
        self.meanwhile = meanwhile

    def toDF(self, *names: str) -> Any:
        self.meanwhile()
        raise ValueError(self.report) from ValueError(self.report)


def test_the_first_cause_of_an_error_is_told_where_it_says_more() -> None:
    report = "An error occurred while calling o1.parquet.\n: a.SparkException: cannot read 2.json\n\tat b.C\n"
    causes = "Caused by: a.SparkException: malformed\n\tat b.C\nCaused by: d.E$F: 'one' is no number\n\tat b.C\n"
    assert reason_of(ValueError(report)) == "cannot read 2.json"
    assert reason_of(ValueError(report + causes)) == "cannot read 2.json (caused by: 'one' is no number)"
    assert reason_of(ValueError(report + "Caused by: g.H: cannot read 2.json\n")) == "cannot read 2.json"


def test_no_query_runs_without_a_core() -> None:
    with pytest.raises(ProgramError, match="free_cores is 0, but Spark needs at least one core"):
        StreamOptions(free_cores=0)
