"""The batch protocol: every edge of its table, and every order in which a driver may be lost."""

from __future__ import annotations

import pytest

from headgate.connectors.micro_batches.protocol import (
    Acknowledge,
    BatchProtocol,
    Completed,
    Drop,
    FeedClosed,
    FeedRestored,
    FeedState,
    FeedWrite,
    Offered,
    QueryEnded,
    QueryPosition,
    Record,
    Refuse,
    StartQuery,
    StopQuery,
    Written,
    position_of,
)
from headgate.errors import InternalError, RestoreError

FRESH = FeedRestored(QueryPosition(), Record())


def at(covered: int, known: int | None = None) -> QueryPosition:
    """A snapshot of query q which covers a batch, and knows another one."""
    return QueryPosition(query="q", known=covered if known is None else known, covered=covered)


def record(acknowledged: int, planned: int | None = None) -> Record:
    return Record(query="q", planned=acknowledged + 1 if planned is None else planned, acknowledged=acknowledged)


def started(position: QueryPosition | None = None, found: Record | None = None, *, ends: bool = False) -> BatchProtocol:
    protocol = BatchProtocol(ends=ends)
    effects = protocol.handle(FeedRestored(position or QueryPosition(), found or Record()))
    assert effects == [Drop((found or Record()).acknowledged), StartQuery()]
    assert protocol.state is FeedState.IDLE
    return protocol


def reading(batch: int = 0, *, ends: bool = False) -> BatchProtocol:
    protocol = started(ends=ends)
    for before in range(batch):
        protocol.handle(Offered(before))
        protocol.handle(Written(before))
        assert protocol.handle(Completed(at(before))) == [Acknowledge(before)]
    assert protocol.handle(Offered(batch)) == [Drop(batch - 1), FeedWrite(batch)]
    assert protocol.handle(Written(batch)) == []
    assert protocol.reading == batch
    return protocol


def test_a_batch_is_acknowledged_when_a_checkpoint_covers_it_and_not_before() -> None:
    protocol = reading(1)
    assert protocol.handle(Completed(at(0))) == [], "it does not know of it"
    assert protocol.handle(Completed(at(0, known=1))) == [], "it has some of it to read"
    assert protocol.handle(Completed(at(1))) == [Acknowledge(1)]
    assert (protocol.state, protocol.reading) == (FeedState.IDLE, None)


def test_a_driver_that_was_lost_while_a_batch_was_written_has_the_next_one_write_it_anew() -> None:
    protocol = started(at(6), record(6, planned=7))
    assert protocol.handle(Offered(7)) == [Drop(6), FeedWrite(7)]


def test_a_batch_that_no_checkpoint_knows_of_is_written_anew() -> None:
    protocol = started(at(6), record(6, planned=7))
    protocol.handle(Offered(7))
    protocol.handle(Written(7))
    assert protocol.reading == 7


def test_a_batch_that_a_checkpoint_has_half_read_is_read_on_and_not_written_again() -> None:
    protocol = started(at(6, known=7), record(6, planned=7))
    assert protocol.handle(Offered(7)) == [Drop(6)]
    assert (protocol.state, protocol.reading) == (FeedState.READING, None), "its splits are in the snapshot"
    assert protocol.handle(Completed(at(7))) == [Acknowledge(7)]


def test_a_batch_that_is_covered_and_was_not_acknowledged_is_so_at_once() -> None:
    protocol = started(at(7), record(6, planned=7))
    assert protocol.handle(Offered(7)) == [Drop(6), Acknowledge(7)]
    assert protocol.handle(Offered(8)) == [Drop(7), FeedWrite(8)]


def test_a_driver_that_was_lost_after_the_acknowledgement_goes_on_with_the_next_batch() -> None:
    protocol = started(at(7), record(7))
    assert protocol.handle(Offered(8)) == [Drop(7), FeedWrite(8)]


def test_an_attempt_that_restarts_gets_the_batch_again_without_another_write() -> None:
    protocol = reading(1)
    assert protocol.handle(FeedRestored(at(0), record(0))) == []
    assert protocol.reading == 1
    assert protocol.handle(FeedRestored(at(0, known=1), record(0))) == []
    assert protocol.handle(Completed(at(1))) == [Acknowledge(1)]


def test_a_checkpoint_whose_completion_nobody_told_of_acknowledges_when_it_is_restored() -> None:
    protocol = reading(1)
    assert protocol.handle(FeedRestored(at(1), record(0, planned=1))) == [Acknowledge(1)]


def test_an_attempt_may_restart_while_a_batch_is_written() -> None:
    protocol = started()
    protocol.handle(Offered(0))
    assert protocol.handle(FeedRestored(QueryPosition(), record(-1))) == []
    assert protocol.handle(Written(0)) == []
    assert protocol.reading == 0


def test_an_attempt_that_goes_back_to_before_a_half_read_batch_has_it_written() -> None:
    protocol = started(at(6, known=7), record(6, planned=7))
    protocol.handle(Offered(7))
    assert protocol.handle(FeedRestored(at(6), record(6, planned=7))) == [FeedWrite(7)]


@pytest.mark.parametrize("position", [QueryPosition(), at(4), at(4, known=5)], ids=["none", "older", "half read"])
def test_a_snapshot_older_than_the_last_acknowledged_batch_is_refused_by_both_numbers(position: QueryPosition) -> None:
    with pytest.raises(RestoreError, match="has acknowledged batch 5") as refused:
        BatchProtocol(ends=False).handle(FeedRestored(position, record(5)))
    assert ("covers 4" if position.query else "without a snapshot") in str(refused.value)
    assert "newest checkpoint" in str(refused.value)


def test_within_one_driver_what_was_just_acknowledged_counts_before_the_record_shows_it() -> None:
    protocol = reading(1)
    protocol.handle(Completed(at(1)))
    with pytest.raises(RestoreError, match="has acknowledged batch 1, but the snapshot covers 0"):
        protocol.handle(FeedRestored(at(0), record(0, planned=1)))


@pytest.mark.parametrize(("query", "told"), [(None, "no query has run yet"), ("other", "there is query other")])
def test_the_location_of_another_query_is_refused(query: str | None, told: str) -> None:
    with pytest.raises(RestoreError, match=told):
        BatchProtocol(ends=False).handle(FeedRestored(at(3), Record(query=query)))


def test_a_location_that_is_older_than_the_snapshot_is_refused() -> None:
    with pytest.raises(RestoreError, match=r"knows batch 5 .* planned no batch after 3"):
        BatchProtocol(ends=False).handle(FeedRestored(at(5), record(2, planned=3)))


def test_a_batch_whose_predecessor_was_acknowledged_to_another_job_is_never_read() -> None:
    protocol = started()  # which another job has kept the query from, until it had acknowledged batch 0
    [refusal] = protocol.handle(Offered(1))
    assert isinstance(refusal, Refuse)
    assert "batch 0 was acknowledged to another job, and this job has read none after -1" in refusal.reason
    assert (protocol.state, protocol.failure) == (FeedState.FAILED, refusal.reason)


def test_a_query_that_ends_by_itself_has_no_more_splits() -> None:
    protocol = reading(ends=True)
    protocol.handle(Completed(at(0)))
    assert protocol.handle(QueryEnded(None)) == []
    assert protocol.state is FeedState.OVER
    assert protocol.handle(FeedRestored(at(0), record(0))) == []
    assert protocol.state is FeedState.OVER


@pytest.mark.parametrize("error", ["column x is gone", None])
@pytest.mark.parametrize("state", ["idle", "writing", "reading"])
def test_a_query_that_fails_or_is_stopped_by_others_fails_the_job(state: str, error: str | None) -> None:
    protocol = started() if state != "reading" else reading()
    if state == "writing":
        protocol.handle(Offered(0))
    protocol.handle(QueryEnded(error))
    assert protocol.state is FeedState.FAILED
    assert (protocol.failure or "").startswith(error or "it was stopped from outside the job, as by another query")
    with pytest.raises(RestoreError, match="the streaming query has failed"):
        protocol.handle(FRESH)


def test_a_query_that_ends_with_a_batch_unanswered_has_failed_also_if_it_was_to_end() -> None:
    protocol = reading(ends=True)
    protocol.handle(QueryEnded(None))
    assert protocol.state is FeedState.FAILED


@pytest.mark.parametrize("state", ["writing", "reading"])
def test_the_end_of_the_job_refuses_the_batch_that_waits_and_stops_the_query(state: str) -> None:
    protocol = started() if state == "writing" else reading()
    if state == "writing":
        protocol.handle(Offered(0))
    refusal, stop = protocol.handle(FeedClosed())
    assert isinstance(refusal, Refuse)
    assert stop == StopQuery()
    assert protocol.handle(QueryEnded("as it was refused")) == []
    assert protocol.handle(Written(0)) == []
    assert isinstance(protocol.handle(Offered(1))[0], Refuse)
    assert protocol.handle(FeedClosed()) == [StopQuery()]
    with pytest.raises(RestoreError, match="make another source"):
        protocol.handle(FRESH)


def test_a_batch_that_nobody_has_asked_for_is_an_error_of_ours() -> None:
    protocol = started()
    protocol.handle(Offered(0))
    with pytest.raises(InternalError, match="batch 3 was written, but 0 is asked for"):
        protocol.handle(Written(3))


def test_the_position_of_a_snapshot_follows_from_its_splits() -> None:
    assert position_of([], []) == QueryPosition()
    assert position_of([("q", 3)], []) == at(3)
    assert position_of([("q", 3), ("q", 2)], [("q", 3)]) == at(2, known=3)
    with pytest.raises(RestoreError, match="several streaming queries: p, q"):
        position_of([("q", 3), ("p", 2)], [])
