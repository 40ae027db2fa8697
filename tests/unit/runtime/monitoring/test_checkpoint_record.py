"""Where a barrier waits: the subtask at which it is about to wait longest, and for whom that is no news."""

from __future__ import annotations

import pytest

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import SubtaskAcked
from headgate.elements import Barrier
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.runtime.control.subtask_metrics import BarrierWait, Rates, SubtaskMetrics, TimeShares, Traffic
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, LongestWait, waiting_of
from headgate.runtime.monitoring.statistics import CheckpointStatistics

A1 = Attempt(1)


def reporting(waiting: int | None, per_second: float | None = 10.0, checkpoint: int = 7) -> SubtaskMetrics:
    wait = (
        None
        if waiting is None
        else BarrierWait(checkpoint_id=CheckpointId(checkpoint), waiting=waiting, per_second=per_second)
    )
    time = TimeShares()
    return SubtaskMetrics(
        traffic=Traffic(), time=time, rates=Rates(time=time), watermark_in=None, watermark_out=None, barrier=wait
    )


def under_way(statistics: CheckpointStatistics) -> CheckpointRecord:
    statistics.triggered(Barrier(CheckpointId(7), 0), A1, (1, 3), 0.0)
    return statistics.under_way()[0]


def found(record: CheckpointRecord, *reports: SubtaskMetrics) -> LongestWait | None:
    return waiting_of(record, {SubtaskId(1, index): each for index, each in enumerate(reports)})


def test_the_longest_wait_is_told() -> None:
    record = under_way(CheckpointStatistics())
    waiting = found(record, reporting(900, 1000.0), reporting(900, 45.0), reporting(None))
    assert waiting is not None
    assert waiting.text("score") == "the barrier waits behind 'score', subtask 1: 900 records, about 20 s"


def test_a_subtask_of_which_the_rate_is_not_known_comes_first() -> None:
    record = under_way(CheckpointStatistics())
    waiting = found(record, reporting(900, 45.0), reporting(1, None))
    assert waiting is not None
    assert waiting.text("score") == "the barrier waits behind 'score', subtask 1: 1 record"


@pytest.mark.parametrize(
    ("waiting", "per_second", "told"),
    [(20, 10.0, "20 records, about 2.0 s"), (16_384, 20.0, "16,384 records, about 14 min"), (5, 0.0, "5 records")],
)
def test_the_time_is_rounded(waiting: int, per_second: float, told: str) -> None:
    wait = LongestWait(
        SubtaskId(1, 0), BarrierWait(checkpoint_id=CheckpointId(7), waiting=waiting, per_second=per_second)
    )
    assert wait.text("score").endswith(told)


def test_other_checkpoints_and_subtasks_that_have_answered_are_no_news() -> None:
    statistics = CheckpointStatistics()
    record = under_way(statistics)
    assert found(record, reporting(900, checkpoint=6)) is None
    state = SubtaskState(operators=())
    acked = SubtaskAcked(attempt=A1, subtask=SubtaskId(1, 0), checkpoint_id=CheckpointId(7), state=state)
    statistics.acked(acked, 0)
    assert found(record, reporting(900)) is None
    waiting = found(record, reporting(900), reporting(1))
    assert waiting is not None
    assert waiting.subtask == SubtaskId(1, 1)
    statistics.failed(CheckpointId(7), "it took too long", 0)
    assert found(record, reporting(900), reporting(1)) is None
