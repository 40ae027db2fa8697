"""Commits to a Delta table: each checkpoint's files once, whoever commits them and whatever others do to the table."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Field, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.schema import PrimitiveType
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connectors.delta import DeltaSink
from headgate.functions.sink import CommitLostError, RetriableCommitError
from tests.delta.tables import JOB, OTHER_JOB, SCHEMA, Driver, rows_of, versions_of
from tests.sample_size import sample_size

pytestmark = pytest.mark.slow


def rows(*numbers: int) -> list[dict[str, Any]]:
    return [{"number": number, "word": f"word-{number}"} for number in numbers]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def driver(table: Path) -> Driver:
    sink = DeltaSink(table, SCHEMA)
    sink.prepare(JOB)
    return Driver(sink=sink)


def test_files_of_all_subtasks_are_one_commit(driver: Driver, table: Path) -> None:
    files = [file for subtask in range(3) for file in driver.prepared(1, rows(subtask), subtask)]
    assert rows_of(table) == []
    driver.commit(1, files)
    assert rows_of(table) == rows(0, 1, 2)
    assert versions_of(table) == 1


def test_a_checkpoint_without_rows_is_no_commit(driver: Driver, table: Path) -> None:
    files = driver.prepared(1, [])
    driver.commit(1, files)
    assert (files, versions_of(table)) == ([], 0)


def test_a_commit_that_is_there_already_is_done(driver: Driver, table: Path) -> None:
    first, second = driver.prepared(1, rows(1)), driver.prepared(2, rows(2))
    driver.commit(1, first)
    driver.commit(2, second)
    for checkpoint_id, files in ((1, first), (2, second), (1, first)):
        driver.commit(checkpoint_id, files)
    assert rows_of(table) == rows(1, 2)
    assert versions_of(table) == 2


def test_another_job_commits_what_it_restores_as_the_job_that_has_prepared_it(driver: Driver, table: Path) -> None:
    other = Driver(sink=DeltaSink(table, SCHEMA), identity=OTHER_JOB)
    restored, own = driver.prepared(5, rows(1)), other.prepared(5, rows(2))
    other.commit(5, restored + own)
    driver.commit(5, restored)
    other.commit(5, restored + own)
    assert rows_of(table) == rows(1, 2)


def test_what_a_later_attempt_commits_does_not_hide_the_savepoint_of_an_earlier_one(
    driver: Driver, table: Path
) -> None:
    savepoint = driver.prepared(3, rows(1, 2))
    later = Driver(sink=driver.sink, attempt=2)
    later.commit(4, later.prepared(4, rows(1)))  # it went back behind the savepoint, and was cancelled at row 1
    Driver(sink=driver.sink, identity=OTHER_JOB).commit(3, savepoint)
    assert rows_of(table) == rows(1, 1, 2)  # the job had put row 1 out a second time; row 2 must not be lost for that


def test_the_library_refuses_a_second_commit_of_one_application_that_has_not_seen_the_first(
    driver: Driver, table: Path
) -> None:
    stale = DeltaTable(table)
    [file] = driver.prepared(1, rows(1))
    driver.commit(1, [file])
    once = CommitProperties(app_transactions=[Transaction(file.preparer.app_id, 1)])
    with pytest.raises(CommitFailedError):
        stale.create_write_transaction([file.action()], "append", stale.schema(), [], commit_properties=once)
    other = CommitProperties(app_transactions=[Transaction("another", 1)])
    stale.create_write_transaction([file.action()], "append", stale.schema(), [], commit_properties=other)


def test_the_library_refuses_a_commit_that_has_not_seen_a_change_of_the_columns(driver: Driver, table: Path) -> None:
    stale = DeltaTable(table)
    [file] = driver.prepared(1, rows(1))
    DeltaTable(table).alter.add_columns([Field("added", PrimitiveType("long"))])
    with pytest.raises(CommitFailedError):
        stale.create_write_transaction([file.action()], "append", stale.schema(), [])


DRIVERS = 4


def test_of_drivers_that_commit_the_same_at_once_one_does(driver: Driver, table: Path) -> None:
    rounds = 12
    drivers = [Driver(sink=DeltaSink(table, SCHEMA)) for _ in range(DRIVERS)]
    barrier = threading.Barrier(DRIVERS)

    def commit_all(one: Driver) -> None:
        for checkpoint_id, files in enumerate(prepared, start=1):
            barrier.wait(120.0)
            one.commit(checkpoint_id, files)

    prepared = [driver.prepared(number, rows(number)) for number in range(1, rounds + 1)]
    with ThreadPoolExecutor(DRIVERS) as pool:
        list(pool.map(commit_all, drivers))
    assert rows_of(table) == rows(*range(1, rounds + 1))
    assert versions_of(table) == rounds


def test_other_writers_of_the_table_do_no_harm(driver: Driver, table: Path) -> None:
    count = 8
    prepared = [driver.prepared(number, rows(number)) for number in range(1, count + 1)]

    def write_beside() -> None:
        for number in range(101, 101 + count):
            write_deltalake(table, pa.Table.from_pylist(rows(number), SCHEMA), mode="append")

    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(write_beside)
        for checkpoint_id, files in enumerate(prepared, start=1):
            driver.commit(checkpoint_id, files)
        beside.result(120.0)
    assert rows_of(table) == rows(*range(1, count + 1), *range(101, 101 + count))


def test_what_has_become_of_the_files_since_does_not_matter_to_a_commit_that_is_repeated(
    driver: Driver, table: Path
) -> None:
    both = [driver.prepared(number, rows(number)) for number in (1, 2)]
    for checkpoint_id, files in enumerate(both, start=1):
        driver.commit(checkpoint_id, files)
    DeltaTable(table).optimize.compact()
    DeltaTable(table).delete("number = 1")
    DeltaTable(table).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
    DeltaTable(table).create_checkpoint()
    DeltaTable(table).cleanup_metadata()
    driver.commit(2, both[1])
    assert rows_of(table) == rows(2)


def test_deleting_rows_while_files_wait_does_no_harm(driver: Driver, table: Path) -> None:
    driver.commit(1, driver.prepared(1, rows(1, 2)))
    waiting = driver.prepared(2, rows(3))
    DeltaTable(table).delete("number = 1")
    driver.commit(2, waiting)
    assert rows_of(table) == rows(2, 3)


def test_a_column_that_is_new_in_the_table_is_null_in_what_the_sink_writes(driver: Driver, table: Path) -> None:
    waiting = driver.prepared(1, rows(1))
    DeltaTable(table).alter.add_columns([Field("added", PrimitiveType("long"))])
    driver.commit(1, waiting)
    assert rows_of(table) == [{**row, "added": None} for row in rows(1)]


def test_files_that_do_not_fit_the_table_any_more_stay_and_are_never_committed(driver: Driver, table: Path) -> None:
    [waiting] = driver.prepared(1, rows(1))
    DeltaTable(table).alter.add_constraint({"small": "number < 10"})
    with pytest.raises(CommitLostError, match=r"has changed.*'delta.constraints.small'.*change the table back"):
        driver.commit(1, [waiting])
    assert (table / waiting.path).exists()
    DeltaTable(table).alter.drop_constraint("small")
    driver.commit(1, [waiting])
    assert rows_of(table) == rows(1)


def test_files_that_vacuum_has_removed_are_an_error_and_not_a_broken_table(driver: Driver, table: Path) -> None:
    driver.commit(1, driver.prepared(1, rows(1)))
    [waiting] = driver.prepared(2, rows(2))
    DeltaTable(table).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
    with pytest.raises(CommitLostError, match=rf"'{waiting.path}' in the Delta table '{table}' is gone. If VACUUM"):
        driver.commit(2, [waiting])
    assert rows_of(table) == rows(1)


def test_a_file_that_was_changed_is_an_error(driver: Driver, table: Path) -> None:
    [waiting] = driver.prepared(1, rows(1))
    (table / waiting.path).write_bytes(b"short")
    with pytest.raises(CommitLostError, match=f"has 5 bytes instead of {waiting.size_bytes}"):
        driver.commit(1, [waiting])


def test_a_table_that_is_gone_is_an_error(driver: Driver, table: Path) -> None:
    waiting = driver.prepared(1, rows(1))
    shutil.rmtree(table / "_delta_log")
    with pytest.raises(CommitLostError, match=rf"the Delta table '{table}' is not there any more.*put the table back"):
        driver.commit(1, waiting)


def test_a_store_that_does_not_answer_is_tried_again(driver: Driver) -> None:
    nowhere = {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "max_retries": "0",
    }
    away = Driver(sink=DeltaSink("s3://bucket/table", SCHEMA, storage_options=nowhere))
    with pytest.raises(RetriableCommitError, match="cannot commit to the Delta table 's3://bucket/table': ") as caught:
        away.commit(1, driver.prepared(1, rows(1)))
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=sample_size(25), deadline=None, database=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from(["prepare", "commit", "commit twice", "restart"])), max_size=12
    )
)
def test_whatever_is_committed_when_the_table_has_each_record_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    table = tmp_path_factory.mktemp("table")
    sink = DeltaSink(table, SCHEMA)
    sink.prepare(JOB)
    driver, written = Driver(sink=sink), 0
    pending: list[tuple[int, list[Any]]] = []
    durable: tuple[int, list[tuple[int, list[Any]]]] = (0, [])

    def commit() -> None:
        for prepared_for, files in durable[1]:
            driver.commit(prepared_for, files)

    for checkpoint_id, (count, step) in enumerate([*steps, (1, "commit")], start=1):
        pending = [*pending, (checkpoint_id, driver.prepared(checkpoint_id, rows(*range(written, written + count))))]
        written += count
        if step.startswith("commit"):
            durable = (written, pending)
            for _ in step.split():
                commit()
        elif step == "restart":
            driver = Driver(sink=sink, attempt=driver.attempt + 1)
            written, pending = durable
            commit()
    assert rows_of(table) == rows(*range(written))
