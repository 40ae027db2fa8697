"""The metrics of a job: of the job, its vertices and subtasks, as values and as text for Prometheus."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headgate.functions.metrics import MetricReport
from headgate.graph.job_graph import JobGraph
from headgate.graph.logical import Partitioning
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, SubtaskId
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.control.subtask_metrics import Rates, SubtaskMetrics, TimeShares, Traffic
from headgate.runtime.monitoring.exposition import exposition
from headgate.runtime.monitoring.metrics import JOB_METRICS, TASK_METRICS, JobMetrics, PressureLevel
from headgate.runtime.monitoring.outcome import Failure, FailureOrigin
from headgate.runtime.monitoring.progress import JobProgress
from tests.unit.runtime.plans import Step, line_plan


def plan() -> JobGraph:
    return line_plan([1], Step(MapFactory(str), Partitioning.REBALANCE, None, 2), CollectFactory())


def own(
    records_in: int = 0, pressure_ms: float = 0.0, reports: tuple[MetricReport, ...] = (), uid: str = "op1"
) -> SubtaskMetrics:
    return SubtaskMetrics(
        traffic=Traffic(records_in=records_in),
        time=TimeShares(),
        rates=Rates(time=TimeShares(busy_ms=100.0, back_pressured_ms=pressure_ms, idle_ms=900.0 - pressure_ms)),
        watermark_in=None,
        watermark_out=5000,
        user=tuple((uid, report) for report in reports),
    )


def job(subtasks: dict[SubtaskId, SubtaskMetrics] | None = None) -> JobMetrics:
    return JobMetrics(plan(), JobProgress(placement=as_programmed(plan()), subtasks=subtasks or {}, attempt=1))


def late(groups: tuple[str, ...] = (), **labels: str) -> MetricReport:
    return MetricReport(name="late", kind="counter", groups=groups, labels=labels, values={"": 7})


def test_names_are_given_once() -> None:
    names = [metric.name for metric in (*TASK_METRICS, *JOB_METRICS)]
    assert len(names) == len(set(names))


def test_what_has_no_value_yet_is_left_out() -> None:
    found = job({SubtaskId(0, 0): own(records_in=3)}).of_subtask(SubtaskId(0, 0))
    assert found["numRecordsIn"] == 3
    assert found["currentOutputWatermark"] == 5000
    assert "currentInputWatermark" not in found
    assert job().of_subtask(SubtaskId(0, 0)) == {}
    assert "uptime" not in job().of_job(0)


def test_watermarks_of_two_inputs_are_told_one_by_one() -> None:
    both = replace(own(), inputs=(7, None), watermark_lag_ms=30)
    found = job({SubtaskId(0, 0): both}).of_subtask(SubtaskId(0, 0))
    assert found["currentInput1Watermark"] == 7
    assert "currentInput2Watermark" not in found
    assert found["watermarkLag"] == 30
    assert "currentInput1Watermark" not in job({SubtaskId(0, 0): own()}).of_subtask(SubtaskId(0, 0))


def test_a_vertex_has_the_bounds_average_and_sum_of_its_subtasks() -> None:
    metrics = job({SubtaskId(1, 0): own(10), SubtaskId(1, 1): own(30), SubtaskId(0, 0): own(1000)})
    assert metrics.of_vertex(1)["numRecordsIn"] == {"min": 10, "max": 30, "avg": 20, "sum": 40}


def test_the_job_counts_restarts_failures_and_its_uptime() -> None:
    progress = JobProgress(placement=as_programmed(plan()), restarts=2, running_since_ms=1000)
    failure = Failure(wall_ms=1, attempt=Attempt(3), cause="x", origin=FailureOrigin(), restart_delay_ms=None)
    progress.failures.append(failure)
    found = JobMetrics(plan(), progress).of_job(4500)
    assert (found["numRestarts"], found["numFailures"], found["uptime"]) == (2, 3, 3500)
    assert found["numberOfCompletedCheckpoints"] == 0
    assert "lastCheckpointSize" not in found


@pytest.mark.parametrize(
    ("ratio", "level"), [(0.0, "ok"), (0.1, "ok"), (0.11, "low"), (0.5, "low"), (0.51, "high"), (1.0, "high")]
)
def test_levels_of_back_pressure(ratio: float, level: str) -> None:
    assert PressureLevel.of(ratio).value == level


def test_the_worst_subtask_decides_on_the_back_pressure_of_a_vertex() -> None:
    shown = job({SubtaskId(1, 0): own(pressure_ms=50.0), SubtaskId(1, 1): own(pressure_ms=600.0)}).back_pressure(1, 99)
    assert (shown["status"], shown["backpressureLevel"], shown["end-timestamp"]) == ("ok", "high", 99)
    assert [each["backpressureLevel"] for each in shown["subtasks"]] == ["ok", "high"]
    assert shown["subtasks"][1] == {
        "subtask": 1,
        "attempt-number": 0,
        "backpressureLevel": "high",
        "ratio": 0.6,
        "busyRatio": 0.1,
        "idleRatio": 0.3,
    }


def test_without_reports_nothing_is_said_of_back_pressure() -> None:
    assert job().back_pressure(1, 0) == {"status": "deprecated", "subtasks": []}


def test_metrics_of_functions_come_after_the_name_of_their_operator() -> None:
    found = job({SubtaskId(1, 0): own(reports=(late(("orders",), country="fr"),))}).of_subtask(SubtaskId(1, 0))
    assert found["op1.orders.fr.late"] == 7


def samples(*jobs: JobMetrics) -> dict[str, list[tuple[dict[str, str], float]]]:
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(exposition(jobs, 1000).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_prometheus_gets_each_subtask_with_labels_of_its_place() -> None:
    found = samples(job({SubtaskId(1, 0): own(10), SubtaskId(1, 1): own(30)}))
    labels, value = found["headgate_task_numRecordsIn"][1]
    assert value == 30.0
    assert labels == {
        "job_id": plan().job_id,
        "job_name": plan().job_name,
        "task": plan().vertices[1].name,
        "task_id": "op1",
        "subtask_index": "1",
    }
    assert found["headgate_job_numRestarts"][0][1] == 0.0


def test_prometheus_gets_the_metrics_of_functions_by_group_with_their_variables_as_labels() -> None:
    size = MetricReport(name="size", kind="distribution", groups=(), labels={}, values={"count": 2, "max": 4.5})
    found = samples(job({SubtaskId(1, 0): own(reports=(late(("my orders",), **{"1st-key": "fr"}), size))}))
    ((labels, value),) = found["headgate_operator_my_orders_late"]
    assert value == 7.0
    assert (labels["_1st_key"], labels["operator"], labels["operator_id"]) == ("fr", "op1", "op1")
    assert found["headgate_operator_size_max"][0][1] == 4.5
    assert found["headgate_operator_size_count"][0][1] == 2.0


def test_a_variable_named_as_a_label_of_ours_gives_way_and_names_that_fall_together_appear_once() -> None:
    reports = (late(("a.b",), job_id="mine"), late(("a_b",), job_id="mine"))
    found = samples(job({SubtaskId(1, 0): own(reports=reports)}))
    ((labels, _),) = found["headgate_operator_a_b_late"]
    assert labels["job_id"] == plan().job_id


def test_several_jobs_share_the_families() -> None:
    text = exposition([job(), job()], 0).decode()
    assert text.count("# TYPE headgate_job_numRestarts gauge") == 1
    assert exposition([], 0) == b""
