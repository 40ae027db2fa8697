"""Tables of PostgreSQL: the rows that records become, what is refused, what is not shown, and what is left over."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

import pytest

from headgate.connectors.postgres import PostgresSink, PostgresTable
from headgate.connectors.postgres.batches import Leftovers, RowBatch
from headgate.errors import ProgramError, SinkError
from headgate.functions.sink import SinkContext
from headgate.ids import Attempt, CheckpointId, JobId, Lineage
from headgate.types.row import Row

URL = "postgresql://ann:secret@db/shop"
COLUMNS = ["customer", "amount"]


@pytest.mark.parametrize(
    "record",
    [
        ("ann", 5),
        ["ann", 5],
        Row("ann", 5),
        Row(customer="ann", amount=5),
        Row(amount=5, customer="ann", more=1),
        {"amount": 5, "more": 1, "customer": "ann"},
    ],
    ids=str,
)
def test_a_record_with_a_value_for_each_column_is_a_row(record: Any) -> None:
    assert PostgresTable(URL, "totals", COLUMNS).rows([record]) == [("ann", 5)]


@pytest.mark.parametrize("record", ["ab", 5, None, ("ann",), ("ann", 5, 1), {"customer": "ann"}, Row(customer="ann")])
def test_any_other_record_is_refused_and_named(record: Any) -> None:
    with pytest.raises(SinkError, match="is not a row of table 'totals'") as caught:
        PostgresTable(URL, "totals", COLUMNS).rows([("bob", 1), record])
    assert repr(record) in str(caught.value)


def test_a_function_makes_rows_of_other_records() -> None:
    table = PostgresTable(URL, "totals", COLUMNS, row=lambda word: {"customer": word, "amount": len(word)})
    assert table.rows(["ann", "eve"]) == [("ann", 3), ("eve", 3)]


@pytest.mark.parametrize(
    ("columns", "key", "reason"),
    [
        ([], [], "name at least one"),
        (["a", "a"], [], "each once"),
        (COLUMNS, ["id"], "not among its columns"),
        ("customer", [], "a list of names"),
        (COLUMNS, "amount", "a list of names"),
    ],
)
def test_columns_and_key_have_to_fit(columns: Any, key: Any, reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        PostgresTable(URL, "totals", columns, key=key)


def test_the_password_is_in_no_text_and_goes_where_the_sink_goes() -> None:
    table = PostgresTable(URL, "totals", COLUMNS)
    assert "secret" not in f"{table!r} {PostgresSink(table)!r} {table.database} {table.database!r}"
    assert pickle.loads(pickle.dumps(table)).database.url == URL  # noqa: S301


@pytest.mark.parametrize("url", ["postgresql://ann:sec ret@db/shop", "host=db password", "nonsense", "host='db"])
def test_a_url_that_cannot_be_read_is_not_shown(url: str) -> None:
    with pytest.raises(SinkError, match="the URL of the database cannot be read") as caught:
        PostgresTable(url, "totals", COLUMNS)
    assert url not in "".join(traceback.format_exception_only(caught.value))
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("checkpoint", [None, CheckpointId(7)])
def test_the_name_of_a_batch_says_whose_it_is(checkpoint: CheckpointId | None) -> None:
    batch = RowBatch(context(0, 1, None).digest("totals"), 9999, "12345.5f0c9c41", checkpoint)
    assert RowBatch.parse(str(batch)) == batch
    assert len(f"staged_{batch.at(CheckpointId(10**9 - 1))}") <= 63  # longer names are cut by the server


def context(subtask: int, parallelism: int, restored_id: int | None) -> SinkContext:
    restored = None if restored_id is None else CheckpointId(restored_id)
    return SinkContext(
        job_id=JobId("5ce7a710"),
        lineage=Lineage("0b" * 16, 0),
        uid="sink",
        subtask=subtask,
        parallelism=parallelism,
        attempt=Attempt(3),
        restored_id=restored,
    )


def batch(subtask: int, checkpoint: int | None, attempt: int = 2) -> RowBatch:
    own = RowBatch.of(context(subtask, 9, None), "totals")
    return RowBatch(own.owner, subtask, str(attempt), None if checkpoint is None else CheckpointId(checkpoint))


def test_after_rescaling_each_leftover_is_removed_by_one_subtask_and_what_may_be_committed_by_none() -> None:
    left_over = [batch(0, None), batch(2, 6), batch(3, 7), batch(2, None)]
    others = [batch(0, 5), batch(3, 4), batch(1, 9, attempt=3), batch(1, 9, attempt=4)]
    found = [Leftovers(context(subtask, 2, 5), "totals", []).among([*left_over, *others]) for subtask in range(2)]
    assert found == [[batch(0, None), batch(2, 6), batch(2, None)], [batch(3, 7)]]


def test_without_a_checkpoint_everything_of_earlier_attempts_is_left_over_but_what_was_restored() -> None:
    batches = [batch(0, 1), batch(0, 2), batch(0, None)]
    assert Leftovers(context(0, 1, None), "totals", [batch(0, 2)]).among(batches) == [batch(0, 1), batch(0, None)]
