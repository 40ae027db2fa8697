"""The parallelism of a job in the form of Flink's resource requirements: read, changed, refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.unit.web.served import Served, served

PATH = "/jobs/JOB/resource-requirements"


@pytest.fixture(scope="module")
def job() -> Iterator[Served]:
    with served(execution__checkpointing__interval="1 h") as found:
        yield found


def put(job: Served, body: Any) -> httpx.Response:
    return job.http.put(PATH.replace("JOB", job.job.job_id), json=body)


def test_what_is_asked_for_comes_about(job: Served) -> None:
    source, counter = job.get(PATH)
    assert job.get(PATH)[source] == {"parallelism": {"lowerBound": 1, "upperBound": 1}}
    answer = put(job, {counter: {"parallelism": {"lowerBound": 1, "upperBound": 2}}})
    assert answer.status_code == 200
    assert job.outcome(f"/jobs/JOB/rescaling/{answer.json()['request-id']}") == {}
    assert job.get(PATH) == {
        source: {"parallelism": {"lowerBound": 1, "upperBound": 1}},
        counter: {"parallelism": {"lowerBound": 2, "upperBound": 2}},
    }
    back = put(job, {counter: {"parallelism": {"upperBound": 1}}}).json()["request-id"]
    assert job.outcome(f"/jobs/JOB/rescaling/{back}") == {}
    assert job.get("/jobs/JOB/status") == {"status": "RUNNING"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "the request names no vertex; there are: "),
        ({"nothing": {}}, "the request names 'nothing', which is not a vertex of the job; there are: "),
        ({"VERTEX": 3}, 'has 3, but must have {"parallelism": {"upperBound": 4}}'),
        ({"VERTEX": {"parallelism": {}}}, "upperBound of vertex"),
        ({"VERTEX": {"parallelism": {"upperBound": 0}}}, "is 0, but must be a whole number of 1 or more"),
        ({"VERTEX": {"parallelism": {"upperBound": True}}}, "is True, but must be a whole number of 1 or more"),
        ({"VERTEX": {"parallelism": {"lowerBound": 0, "upperBound": 2}}}, "lowerBound of vertex"),
        ({"VERTEX": {"parallelism": {"lowerBound": 4, "upperBound": 2}}}, "is to have 4 to 2 subtasks, but can have 1"),
        ({"VERTEX": {"parallelism": {"upperBound": 200}}}, "is to have 1 to 200 subtasks, but can have 1 to 128"),
    ],
)
def test_what_is_no_requirement_is_refused(job: Served, body: dict[str, Any], text: str) -> None:
    _, counter = job.get(PATH)
    answer = put(job, {name.replace("VERTEX", counter): given for name, given in body.items()})
    assert answer.status_code == 400
    assert text in answer.json()["errors"][0]


def test_what_comes_to_nothing_says_why_later() -> None:
    with served() as job:
        _, counter = job.get(PATH)
        trigger = put(job, {counter: {"parallelism": {"upperBound": 2}}}).json()["request-id"]
        failure = job.outcome(f"/jobs/JOB/rescaling/{trigger}")["failure-cause"]
        assert failure["class"] == "RescaleError"
        assert "it makes no checkpoints" in failure["stack-trace"]
