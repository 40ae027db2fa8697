"""What the page is told stays small, and is made quickly, however large a job is."""

from __future__ import annotations

import json

from headgate.web.page import vertex_json
from headgate.web.page.findings import findings
from headgate.web.page.history import KEPT
from headgate.web.page.overview_json import overview
from headgate.web.question import Question
from tests.unit.web.page_jobs import PageJob, own

SUBTASKS = 1000


def wide_job() -> PageJob:
    job = PageJob(parallelism=SUBTASKS)
    job.reports(own(), *(own(busy=0.1, records=float(index)) for index in range(SUBTASKS)))
    return job


def asked(job: PageJob, **query: str) -> Question:
    return Question(job=job.job, now_ms=0, path={"vertex": "1"}, query=query)


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
