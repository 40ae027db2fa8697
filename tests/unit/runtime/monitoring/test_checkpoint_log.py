"""The log of checkpoints: ten thousand lines of some hundred bytes, in the order of their ids."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import SubtaskAcked
from headgate.elements import Barrier, SavepointFormat, SavepointOrder
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.runtime.monitoring.checkpoint_log import FAILURE_MAX, LOG_MAX, POINTS_MAX, CheckpointLog, LogEntry
from headgate.runtime.monitoring.checkpoint_record import CheckpointKind, CheckpointStatus
from headgate.runtime.monitoring.statistics import CheckpointStatistics

A1 = Attempt(1)


def run(
    statistics: CheckpointStatistics, number: int, failure: str | None = None, savepoint: SavepointOrder | None = None
) -> None:
    """Have a checkpoint of one subtask be triggered at 1000 times its number, and end after 30 ms."""
    begin(statistics, number, savepoint)
    end(statistics, number, failure)


def begin(statistics: CheckpointStatistics, number: int, savepoint: SavepointOrder | None = None) -> None:
    barrier = Barrier(CheckpointId(number), 1000 * number, None, savepoint)
    statistics.triggered(barrier, A1, (1,), 0.0)


def end(statistics: CheckpointStatistics, number: int, failure: str | None = None) -> None:
    if failure is not None:
        statistics.failed(CheckpointId(number), failure, 1000 * number + 30)
        return
    ack = SubtaskAcked(
        attempt=A1, checkpoint_id=CheckpointId(number), subtask=SubtaskId(0, 0), state=SubtaskState(operators=())
    )
    statistics.acked(ack, 1000 * number + 30)
    statistics.completed(CheckpointId(number), "/chk", 31.0)


def ids(entries: list[LogEntry]) -> list[int]:
    return [entry.checkpoint_id for entry in entries]


def test_a_line_has_what_became_of_a_checkpoint() -> None:
    statistics = CheckpointStatistics()
    run(statistics, 1)
    run(statistics, 2, failure="é" * 300 + "\nand a trace")
    run(statistics, 3, savepoint=SavepointOrder("/s", SavepointFormat.NATIVE, stops=True))
    stopped, failed, complete = statistics.log.before(None, 10)
    assert complete == LogEntry(
        checkpoint_id=1,
        kind=CheckpointKind.CHECKPOINT,
        status=CheckpointStatus.COMPLETED,
        savepoint_format=None,
        trigger_ms=1000,
        duration_ms=30,
        written_bytes=0,
        state_bytes=0,
        failure=None,
    )
    assert (failed.status, failed.failure) == (CheckpointStatus.FAILED, "é" * FAILURE_MAX)
    assert failed.duration_ms == 30
    assert (stopped.kind, stopped.savepoint_format) == (CheckpointKind.SYNC_SAVEPOINT, SavepointFormat.NATIVE)


@given(order=st.permutations(range(1, 9)))
def test_lines_are_in_the_order_of_ids_whichever_checkpoint_ends_first(order: list[int]) -> None:
    statistics = CheckpointStatistics()
    for number in range(1, 9):
        begin(statistics, number)
    for number in order:
        end(statistics, number)
    assert ids(statistics.log.before(None, 3)) == [8, 7, 6]
    assert ids(statistics.log.before(CheckpointId(6), 3)) == [5, 4, 3]
    assert ids(statistics.log.before(CheckpointId(3), 30)) == [2, 1]
    assert statistics.log.before(CheckpointId(1), 3) == []


@pytest.mark.slow
def test_the_newest_ten_thousand_are_kept_in_a_hundred_bytes_each() -> None:
    statistics = CheckpointStatistics()
    for number in range(LOG_MAX + 20):
        run(statistics, number)
    log = statistics.log
    assert len(log) == LOG_MAX
    assert ids(log.before(CheckpointId(30), 100)) == list(range(29, 19, -1))
    assert _size(log) / LOG_MAX < 100


def _size(log: CheckpointLog) -> int:
    return sys.getsizeof(log._lines) + sum(map(sys.getsizeof, log._lines))


def test_a_curve_has_at_most_five_hundred_points_and_begins_and_ends_with_the_log() -> None:
    statistics = CheckpointStatistics()
    for number in range(3_001):
        run(statistics, number, failure="slow" if number % 10 == 3 else None)
        if number in (0, 1, 498, 499, 500, 2_999):
            points = statistics.log.curve()
            assert 0 < len(points) <= POINTS_MAX
            assert points[-1].trigger_ms == 1000 * number
            assert {point.duration_ms for point in points} == {30}


def test_savepoints_and_failed_checkpoints_are_not_in_the_curve() -> None:
    statistics = CheckpointStatistics()
    run(statistics, 1, failure="slow")
    run(statistics, 2, savepoint=SavepointOrder("/s"))
    assert statistics.log.curve() == []
