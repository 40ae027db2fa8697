"""Requests drawn at random, over all routes: each is answered in words, none by an error of the server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.routing import Route

from headgate.job_status import JobStatus
from headgate.web.access import RestConfig
from headgate.web.app import application
from headgate.web.logins import Entrance
from headgate.web.page.history import Histories
from headgate.web.requests import ServedJobs
from tests.unit.web.served import Served, served

JOBS = ServedJobs()
ENTRANCE = Entrance(token="", config=RestConfig(), port=0)
ENDLESS = ("/jobs/{job}/live", "/jobs/{job}/output/{uid:path}")
ROUTES = [
    route
    for route in application(JOBS, ENTRANCE, Histories(JOBS)).routes
    if isinstance(route, Route) and route.path not in ENDLESS
]
METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS")
NAMES = ("triggerId", "target-directory", "targetDirectory", "savepoint-path", "formatType", "drain", "cancel-job")
QUERIES = ("get", "agg", "maxExceptions", "mode", "subtasks", "before", "limit")

TEXTS = st.text(max_size=20) | st.sampled_from(
    ["", "0", "-1", "1" * 5_000, "٣", "²", "..", "NaN", "CANONICAL", "\0", "%00"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.sampled_from(["\ud800", "native"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
BODIES = st.dictionaries(st.sampled_from(NAMES) | TEXTS, VALUES, max_size=4)
RAW = st.binary(max_size=100) | st.sampled_from(
    [b"[" * 60_000, b'{"a":' * 10_000, b"7" * 60_000, b'"\xff"', b"x" * 70_000]
)
HEADERS = st.dictionaries(
    st.sampled_from(["Accept", "Content-Type", "Content-Encoding", "Range", "X-Forwarded-Host", "Origin"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20),
    max_size=2,
)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("storage")
    with served(headgate__storage__dir=str(folder), execution__checkpointing__interval="100 ms") as found:
        yield found


def path_of(route: Route, job: Served, data: st.DataObject) -> str:
    """A path of the route; each part that is open is what there is, or anything."""
    known: dict[str, list[str]] = {
        "job": [job.job.job_id],
        "vertex": ["0", "1"],
        "checkpoint": ["1", "2"],
        "trigger": ["t"],
        "slot": ["0", "1"],
    }

    def part(found: re.Match[str]) -> str:
        return quote(data.draw(st.sampled_from(known[found[1]]) | TEXTS), safe="")

    return data.draw(st.sampled_from(["", "/v1"])) + re.sub(r"\{(\w+)\}", part, route.path)


def harmless(path: str, body: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The body without what would end the job, or write outside a folder."""
    kept = {name: value for name, value in body.items() if name != "cancel-job" or value is not True}
    for name in ("target-directory", "targetDirectory", "savepoint-path"):
        if isinstance(kept.get(name), str):
            kept[name] = f"{folder}/{kept[name].replace('..', '')}"
    return kept | ({"drain": "perhaps"} if path.endswith("/stop") else {})


def ask_anything(job: Served, folder: Path, data: st.DataObject) -> None:
    draw = data.draw
    path = path_of(draw(st.sampled_from(ROUTES)), job, data)
    query = draw(st.dictionaries(st.sampled_from(QUERIES) | TEXTS, TEXTS, max_size=3)) | {"mode": "not cancel"}
    sent = draw(BODIES | RAW)
    body = json.dumps(harmless(path, sent, folder)).encode() if isinstance(sent, dict) else sent
    method, headers = draw(st.sampled_from(METHODS)), draw(HEADERS)
    answer = job.http.request(method, path, params=query, headers=headers, content=body)
    assert answer.status_code < 500, (method, path, query, sent, answer.text)
    if answer.status_code >= 400 and method != "HEAD":
        assert answer.json()["errors"][0]


def anything(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("anything")


@anything(examples=100)
@given(data=st.data())
@pytest.mark.slow
def test_some_requests_are_answered_in_words(job: Served, folder: Path, data: st.DataObject) -> None:
    ask_anything(job, folder, data)


@pytest.mark.slow
@pytest.mark.soak
def test_a_thousand_requests_are_answered_in_words_and_the_job_runs_on(job: Served, folder: Path) -> None:
    @anything(examples=1_000)
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        ask_anything(job, folder, data)

    ask()
    assert job.job.status() is JobStatus.RUNNING


def test_all_routes_are_asked() -> None:
    assert len({route.path for route in ROUTES}) > 25
