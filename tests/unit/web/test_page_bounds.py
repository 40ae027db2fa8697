"""What the page is told stays small, and is made quickly, however large a job is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from headgate.functions.metrics import MetricReport
from headgate.ids import CheckpointId, JobId, SubtaskId
from headgate.operators.record_guard import FAILED_COUNT
from headgate.runtime.control.subtask_metrics import BarrierWait
from headgate.web import checkpoint_json, checkpoint_phases, diagnostics_json
from headgate.web.page import vertex_json
from headgate.web.page.findings import findings
from headgate.web.page.history import KEPT, Histories
from headgate.web.page.live import LiveOverviews
from headgate.web.page.overview_json import overview
from headgate.web.question import Question, ServedJob
from headgate.web.requests import ServedJobs
from tests.unit.web.page_jobs import FAILED, PageJob, own
from tests.unit.web.test_job_json import View

SUBTASKS = 1000


def wide_job() -> PageJob:
    job = PageJob(parallelism=SUBTASKS)
    job.reports(own(), *(own(busy=0.1, records=float(index)) for index in range(SUBTASKS)))
    return job


def asked(job: PageJob, **query: str) -> Question:
    return Question(job=job.job, now_ms=0, path={"vertex": "1", "checkpoint": "1"}, query=query)


def test_the_overview_does_not_grow_with_the_subtasks() -> None:
    job = wide_job()
    found = json.dumps(overview(job.job, 0) | {"findings": findings(job.seen())})
    assert len(found) < 3_000


def test_of_many_subtasks_the_greatest_are_shown() -> None:
    found = vertex_json.subtasks(asked(wide_job(), sort="in"))
    assert found["total"] == SUBTASKS
    assert [row["subtask"] for row in found["subtasks"]] == list(range(SUBTASKS - 1, SUBTASKS - 101, -1))
    assert len(json.dumps(found)) < 40_000
    assert [row["subtask"] for row in vertex_json.subtasks(asked(wide_job(), limit="3"))["subtasks"]] == [0, 1, 2]


def test_subtasks_that_report_nothing_are_shown_last() -> None:
    job = PageJob(parallelism=3)
    job.reports(own(), own(records=1))
    found = vertex_json.subtasks(asked(job, sort="in"))["subtasks"]
    assert [(row["subtask"], row["in"]) for row in found] == [(0, 1.0), (1, None), (2, None)]


def test_curves_are_as_long_as_what_is_kept() -> None:
    job = PageJob()
    job.reports(own(), own(records=1.0))
    for _ in range(KEPT + 10):
        job.passes(3000)
    found = job.history.curves(1)
    assert {len(column) for column in found.values()} == {KEPT}
    assert found["at"] == sorted(found["at"])
    assert len(json.dumps(found)) < 60_000


@pytest.mark.slow
def test_of_ten_thousand_checkpoints_a_page_is_small_and_all_are_reached() -> None:
    job = PageJob()
    for number in range(10_000):
        job.checkpoint(number, failure="x" * 1000 if number % 7 == 0 else None, async_ms=5.0)
    found = checkpoint_json.log(asked(job, limit="100000"))
    assert found["total"] == 10_000
    assert len(json.dumps(found)) < 100_000
    pages, ids = 1, [entry["id"] for entry in found["checkpoints"]]
    while found["next"] is not None:
        found = checkpoint_json.log(asked(job, limit="200", before=str(found["next"])))
        pages, ids = pages + 1, ids + [entry["id"] for entry in found["checkpoints"]]
    assert pages == 50
    assert ids == list(range(9_999, -1, -1))
    curve = checkpoint_json.curve(asked(job))
    assert {len(column) for column in curve.values()} == {477}  # 21 ids are a point
    assert len(json.dumps(curve)) < 30_000


def test_checkpoints_under_way_are_in_the_log_once_in_their_place() -> None:
    job = PageJob()
    for number in (1, 2, 3):
        job.triggers(number)
    job.checkpoint(4)
    found = checkpoint_json.log(asked(job, limit="3"))
    assert [(each["id"], each["status"]) for each in found["checkpoints"]] == [
        (4, "COMPLETED"),
        (3, "IN_PROGRESS"),
        (2, "IN_PROGRESS"),
    ]
    assert (found["total"], found["next"]) == (4, 2)
    assert [each["id"] for each in checkpoint_json.log(asked(job, before="2"))["checkpoints"]] == [1]


def test_a_chart_has_the_slowest_subtasks_and_the_slowest_of_each_vertex() -> None:
    job = PageJob(parallelism=SUBTASKS)
    job.triggers(1)
    job.acks(1, SubtaskId(0, 0), start_delay_ms=1.0)
    for index in range(SUBTASKS - 1):
        job.acks(1, SubtaskId(1, index), async_ms=10.0 + index)
    found = checkpoint_phases.chart(asked(job))
    rows = [(row["vertex"], row["subtask"]) for row in found["rows"]]
    assert rows == [(1, 999), *((1, index) for index in range(998, 800, -1)), (0, 0)]
    assert found["leftOut"] == SUBTASKS + 1 - 200
    assert found["slowest"]["subtask"] == 999
    assert len(json.dumps(found)) < 60_000


def test_a_chart_of_few_subtasks_leaves_none_out_and_ends_with_the_checkpoint() -> None:
    job = PageJob(parallelism=3)
    job.triggers(1)
    job.acks(1, SubtaskId(0, 0), start_delay_ms=1.0)
    job.progress.statistics.failed(CheckpointId(1), "storage is gone", 700)
    found = checkpoint_phases.chart(replace(asked(job), now_ms=9_000))
    assert (len(found["rows"]), found["leftOut"], found["until"]) == (4, 0, 700)


def test_a_chart_of_a_checkpoint_under_way_says_where_its_barrier_waits() -> None:
    job = PageJob(parallelism=1)
    job.triggers(1)
    wait = BarrierWait(checkpoint_id=CheckpointId(1), waiting=900, per_second=45.0)
    job.reports(own(), replace(own(), barrier=wait))
    found = checkpoint_phases.chart(asked(job))["slowest"]
    name = job.job.view.plan.vertices[1].name
    assert found["text"] == f"The barrier waits behind {name!r}, subtask 0: 900 records, about 20 s."
    assert found["subtask"] == 0


def test_curves_of_shares_have_the_busiest_subtask() -> None:
    job = PageJob()
    job.reports(own(), own(busy=0.2), own(busy=0.8))
    job.passes(3000)
    assert job.history.curves(1)["busy"] == [0.8]


def test_of_a_job_that_has_ended_no_curves_are_kept() -> None:
    job, served = PageJob().job, ServedJobs()
    histories = Histories(served)
    for jobs, samples in (({job.view.job_id: job}, 1), ({}, 0)):
        served.by_id = jobs
        histories.sample()
        assert len(histories.of(job).curves(0)["at"]) == samples


def test_gauges_that_are_no_numbers_are_told_as_unknown() -> None:
    job = PageJob()
    odd = MetricReport(name="odd", kind="gauge", groups=(), labels={}, values={"": float("nan"), "most": float("inf")})
    job.reports(own(), replace(own(), user=(("uid", odd),)))
    found = vertex_json.user_metrics(asked(job))["metrics"]
    assert [(row["name"], row["sum"]) for row in found] == [("odd", None), ("odd.most", None)]
    json.dumps(found, allow_nan=False)


def test_metrics_of_functions_may_have_names_of_ours() -> None:
    job = PageJob()
    spread = MetricReport(name=FAILED_COUNT, kind="distribution", groups=(), labels={}, values={"count": 0, "sum": 0})
    odd = MetricReport(name=FAILED_COUNT, kind="gauge", groups=(), labels={}, values={"": float("nan")})
    job.reports(own(), replace(own(failed=True), user=(("uid", spread), ("uid", odd), ("uid", FAILED))))
    assert overview(job.job, 0)["vertices"][1]["failed"] == 7
    assert diagnostics_json.failed_records(asked(job))["operators"] == []


def test_overviews_are_kept_of_jobs_that_run_only() -> None:
    served = ServedJobs()
    live = LiveOverviews(served, Histories(served))

    async def looks_at(number: int) -> bytes:
        view, id_ = PageJob().job.view, JobId(str(number))
        job = ServedJob(View(progress=view.progress, plan=replace(view.plan, job_id=id_)), 0)
        served.by_id = {id_: job}
        return await anext(live._events(job))

    for number in range(3):
        assert asyncio.run(looks_at(number)).startswith(b"event: overview")
    assert list(live._made) == ["2"]


def test_all_pages_that_show_a_job_are_told_the_same_overview() -> None:
    job, served = PageJob().job, ServedJobs()
    served.by_id = {job.view.job_id: job}
    live = LiveOverviews(served, Histories(served))

    async def told() -> list[bytes]:
        return [await anext(live._events(job)) for _ in range(2)]

    one, other = asyncio.run(told())
    assert one is other


def test_a_job_whose_figures_cannot_be_read_leaves_the_curves_of_others_alone() -> None:
    broken, well = PageJob(), PageJob()
    broken.progress.subtasks = {SubtaskId(9, 0): own()}
    served = ServedJobs()
    served.by_id = {JobId("a"): broken.job, JobId("b"): well.job}
    histories = Histories(served)
    histories.sample()
    assert len(histories.of(well.job).curves(0)["at"]) == 1
