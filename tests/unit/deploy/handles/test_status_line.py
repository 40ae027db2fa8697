"""A running job in one line: what it has, and what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import SubtaskAcked
from headgate.connectors.collection import CollectionSource
from headgate.connectors.datagen import DataGeneratorSource
from headgate.deploy.handles.running_job import prints, status_line
from headgate.elements import Barrier
from headgate.functions.source import Source
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.collect import CollectFactory
from headgate.operators.print import PrintFactory
from headgate.runtime.control.subtask_metrics import Rates, SubtaskMetrics, Traffic
from headgate.runtime.monitoring.progress import JobProgress
from tests.unit.runtime.plans import line_plan

SOURCE, SINK = SubtaskId(0, 0), SubtaskId(1, 0)


def plan_of(source: Source[Any]) -> JobGraph:
    return line_plan(source, CollectFactory())


def progress(plan: JobGraph, read: int, **more: object) -> JobProgress:
    def own(lag_ms: int) -> SubtaskMetrics:
        return SubtaskMetrics(
            traffic=Traffic(records_in=read),
            time=Rates().time,
            rates=Rates(records_in=1_234.5),
            watermark_in=None,
            watermark_out=None,
            watermark_lag_ms=lag_ms,
        )

    made = JobProgress(placement=as_programmed(plan), attempt=1, subtasks={SOURCE: own(100), SINK: own(2_345)})
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_a_job_shows_how_much_it_has_read_how_fast_and_how_late_it_is() -> None:
    plan = plan_of(CollectionSource(range(200)))
    line = status_line(plan, "RUNNING", progress(plan, 50), 0)
    assert line == "a job RUNNING | [#####               ] 25% | 1,234 records/s | watermark 2.3 s behind"


def test_a_job_shows_its_newest_checkpoint_and_its_restarts() -> None:
    plan = plan_of(DataGeneratorSource(int, None))
    found = progress(plan, 50, restarts=2, attempt=3)
    barrier = Barrier(CheckpointId(7), 10_000)
    found.statistics.triggered(barrier, Attempt(3), (1, 1), 0.0)
    state = SubtaskState(operators=())
    ack = SubtaskAcked(checkpoint_id=CheckpointId(7), attempt=Attempt(3), subtask=SOURCE, state=state)
    found.statistics.acked(ack, 10_020)
    found.statistics.completed(CheckpointId(7), "somewhere", 45.0)
    line = status_line(plan, "RUNNING", found, 13_400)
    assert "| checkpoint 7 3 s ago, 45 ms |" in line
    assert line.endswith("| 2 restarts")


@pytest.mark.parametrize("source", [DataGeneratorSource(int, None), CollectionSource([])])
def test_a_job_whose_input_has_no_known_size_has_no_bar(source: Source[Any]) -> None:
    plan = plan_of(source)
    assert "%" not in status_line(plan, "RUNNING", progress(plan, 50), 0)


def test_a_job_that_began_again_has_no_bar() -> None:
    plan = plan_of(CollectionSource(range(200)))
    assert "%" not in status_line(plan, "RUNNING", progress(plan, 50, attempt=2), 0)


def test_nothing_is_known_of_a_job_that_does_not_run_yet() -> None:
    plan = plan_of(DataGeneratorSource(int, None))
    assert status_line(plan, "CREATED", JobProgress(placement=as_programmed(plan)), 0) == "a job CREATED | 0 records/s"


def test_jobs_that_print_are_told_from_others() -> None:
    assert prints(line_plan([1], PrintFactory()))
    assert not prints(line_plan([1], CollectFactory()))
