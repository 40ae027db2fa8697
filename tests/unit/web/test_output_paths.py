"""Live output over REST: who may look, at what, for how long, and that nothing is left once nobody does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from headgate.web import output_paths
from tests.unit.web.served import Served, served, until

ON = {"headgate__web__live-output": "true"}


@pytest.fixture(scope="module")
def job() -> Iterator[Served]:
    """One job for all tests that only look."""
    with served(**ON) as found:
        yield found


@contextmanager
def looking(job: Served, uid: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """Look at an operator; yield the events."""
    with job.http.stream("GET", f"/jobs/{job.job.job_id}/output/{quote(uid, safe='')}", timeout=60) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events(answer)


def events(answer: httpx.Response) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def taps(job: Served) -> Any:
    """The taps that the job master knows of."""
    return job.job._master._taps._open  # type: ignore[attr-defined]


def error(job: Served, path: str, status: int) -> str:
    answer = job.http.get(path.replace("JOB", job.job.job_id))
    assert answer.status_code == status
    text: str = answer.json()["errors"][0]
    return text


def test_records_come_as_events_and_end_when_the_client_leaves(job: Served) -> None:
    with looking(job, "counter") as found:
        name, records = next(found)
        assert name == "records"
        assert set(records[0]) == {"subtask", "at", "timestamp", "key", "value"}
        assert all(record["value"].startswith("(") for record in records)
        assert next(found)[0] == "records"
        assert set(taps(job)) == {"counter"}
    until(lambda: not taps(job))


def test_so_many_look_at_a_time_and_no_more(job: Served) -> None:
    with ExitStack() as looks:
        streams = [looks.enter_context(looking(job, "numbers")) for _ in range(output_paths.TAPS_MAX)]
        assert {next(each)[0] for each in streams} == {"records"}
        assert "close one of them" in error(job, "/jobs/JOB/output/numbers", 503)
    until(lambda: not taps(job))
    with looking(job, "numbers") as found:
        assert next(found)[0] == "records"


def test_a_stream_ends_after_a_while(job: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_paths, "STREAM_S_MAX", 0.4)
    with looking(job, "numbers") as found:
        names = [name for name, _ in found]
    assert set(names[:-1]) == {"records"}
    assert names[-1] == "ended"
    until(lambda: not taps(job))


def test_who_sees_nothing_is_told_that_the_stream_lives(job: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_paths, "SIGN_OF_LIFE_S", 0.05)
    path = f"/jobs/{job.job.job_id}/output/none"  # a filter that lets nothing pass
    with job.http.stream("GET", path, timeout=60) as answer:
        lines = answer.iter_lines()
        assert [next(lines) for _ in range(6)] == [":", ""] * 3


def test_what_is_not_there_is_named(job: Served) -> None:
    assert "it has: numbers, counter, none, printed" in error(job, "/jobs/JOB/output/x", 404)
    assert "no job 00" in error(job, "/jobs/00/output/numbers", 404)


@pytest.mark.slow
def test_it_is_off_unless_it_is_switched_on() -> None:
    with served() as job:
        assert "headgate.web.live-output=true" in error(job, "/jobs/JOB/output/counter", 403)
        assert taps(job) == {}


@pytest.mark.slow
def test_a_session_that_only_reads_sees_no_records(job: Served) -> None:
    with httpx.Client(base_url=job.address.url, follow_redirects=True) as guest:
        link = job.http.post("/login-links", json={"job": job.job.job_id, "readOnly": True}).json()["path"]
        guest.get(link)
        assert guest.get(f"/jobs/{job.job.job_id}").status_code == 200
        answer = guest.get(f"/jobs/{job.job.job_id}/output/counter")
        assert answer.status_code == 403
        assert "only read" in answer.json()["errors"][0]


@pytest.mark.slow
def test_the_end_of_the_job_ends_the_stream() -> None:
    with served(**ON) as job, looking(job, "counter") as found:
        next(found)
        job.job.cancel()
        assert [name for name, _ in found][-1] == "ended"
