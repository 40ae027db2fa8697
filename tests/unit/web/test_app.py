"""The REST interface over a real job: Flink's paths and field names, and nothing without the token."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.unit.web.served import Served, served, until

CHECKPOINTS = {"execution__checkpointing__interval": "20 ms"}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One job for all tests that only look."""
    folder = tmp_path_factory.mktemp("storage")
    with served(headgate__storage__dir=str(folder), **CHECKPOINTS) as found:
        until(lambda: found.get("/jobs/JOB/checkpoints")["counts"]["completed"] > 2)
        yield found


@pytest.mark.parametrize("token", ["", "Bearer", "Bearer wrong", "Basic abc"])
@pytest.mark.slow
def test_without_the_token_nothing_is_answered(job: Served, token: str) -> None:
    for path in ("/jobs", "/v1/overview", "/metrics", "/nothing"):
        answer = httpx.get(job.address.url + path, headers={"Authorization": token}, verify=False)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert "Bearer <token>" in answer.json()["errors"][0]
    stop = httpx.patch(
        f"{job.address.url}/jobs/{job.job.job_id}?mode=cancel", headers={"Authorization": token}, verify=False
    )
    assert stop.status_code == 401


def test_jobs_are_listed_with_or_without_the_prefix(job: Served) -> None:
    assert job.get("/jobs") == job.get("/v1/jobs") == {"jobs": [{"id": job.job.job_id, "status": "RUNNING"}]}


def test_the_overview_has_flinks_fields(job: Served) -> None:
    found = job.get("/jobs/overview")["jobs"][0]
    assert (found["jid"], found["name"], found["state"]) == (job.job.job_id, "word-count", "RUNNING")
    assert found["end-time"] == -1
    assert found["tasks"]["total"] == found["tasks"]["running"] == 2
    assert job.get("/overview")["jobs-running"] == 1
    assert job.get("/config")["features"]["web-cancel"] is True


def test_a_job_has_vertices_and_a_plan(job: Served) -> None:
    details = job.get("/jobs/JOB")
    assert [vertex["parallelism"] for vertex in details["vertices"]] == [1, 1]
    nodes = details["plan"]["nodes"]
    assert details["plan"] == job.get("/jobs/JOB/plan")["plan"]
    assert nodes[1]["inputs"] == [
        {"num": 0, "id": nodes[0]["id"], "ship_strategy": "HASH", "exchange": "pipelined_bounded"}
    ]
    assert "counter" in nodes[1]["uids"]
    assert job.get("/jobs/JOB/status") == {"status": "RUNNING"}


def test_a_vertex_is_found_by_its_id_and_by_its_number(job: Served) -> None:
    id_ = job.get("/jobs/JOB")["vertices"][1]["id"]
    assert job.get(f"/jobs/JOB/vertices/{id_}")["subtasks"][0]["status"] == "RUNNING"
    assert job.get("/jobs/JOB/vertices/1")["id"] == id_


def test_checkpoints_have_flinks_fields(job: Served) -> None:
    found = job.get("/jobs/JOB/checkpoints")
    assert set(found["counts"]) == {"restored", "total", "in_progress", "completed", "failed"}
    assert {"checkpointed_size", "state_size", "end_to_end_duration", "processed_data", "persisted_data"} <= set(
        found["summary"]
    )
    assert set(found["latest"]) == {"completed", "savepoint", "failed", "restored"}
    completed = next(each for each in found["history"] if each["status"] == "COMPLETED")
    assert completed["num_acknowledged_subtasks"] == completed["num_subtasks"] == 2
    assert completed["external_path"].endswith(f"chk-{completed['id']}")


def test_a_checkpoint_has_details_down_to_the_subtask(job: Served) -> None:
    id_ = job.get("/jobs/JOB/checkpoints")["latest"]["completed"]["id"]
    details = job.get(f"/jobs/JOB/checkpoints/details/{id_}")
    vertex = next(iter(details["tasks"]))
    subtask = job.get(f"/jobs/JOB/checkpoints/details/{id_}/subtasks/{vertex}")["subtasks"][0]
    assert subtask["status"] == "completed"
    assert set(subtask["checkpoint"]) == {"sync", "async", "upload"}
    assert set(subtask["alignment"]) == {"buffered", "processed", "persisted", "duration"}
    assert {"start_delay", "unaligned_checkpoint", "aborted"} <= set(subtask)


def test_the_configuration_of_checkpoints_is_told(job: Served) -> None:
    found = job.get("/jobs/JOB/checkpoints/config")
    assert (found["mode"], found["interval"], found["state_backend"]) == ("exactly_once", 20, "HashMapStateBackend")
    assert found["externalization"] == {"enabled": False, "delete_on_cancellation": True}
    assert (found["unaligned_checkpoints"], found["aligned_checkpoint_timeout"]) == (False, 0)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/jobs/00", "no job 00"),
        ("/nothing", "no path /nothing"),
        ("/jobs/JOB/vertices/77", "no vertex 77"),
        ("/jobs/JOB/checkpoints/details/99999", "checkpoint 99999"),
        ("/jobs/JOB/checkpoints/details/x", "checkpoint x"),
        ("/jobs/JOB/checkpoints/details/" + "7" * 5_000, "checkpoint 777"),
        ("/jobs/JOB/vertices/" + "7" * 5_000, "vertex 777"),
        ("/jobs/JOB/savepoints/77", "no request 77"),
    ],
)
def test_what_is_not_there_is_named(job: Served, path: str, what: str) -> None:
    answer = job.http.get(path.replace("JOB", job.job.job_id))
    assert answer.status_code == 404
    assert what in answer.json()["errors"][0]


@pytest.mark.parametrize(
    ("path", "body", "what"),
    [
        ("savepoints", b"[]", "not a JSON object"),
        ("savepoints", b"{", "not a JSON object"),
        ("savepoints", b"[" * 60_000, "not a JSON object"),
        ("savepoints", b'{"cancel-job":' * 4_000, "not a JSON object"),
        ("savepoints", b'{"triggerId": %s}' % (b"7" * 5_000), "not a JSON object"),
        ("savepoints", b'{"triggerId": "\\ud800"}', "not Unicode text"),
        ("savepoints", b'{"formatType": "avro"}', "CANONICAL, NATIVE"),
        ("savepoints", b'{"target-directory": 5}', "must be text"),
        ("stop", b'{"drain": "yes"}', "true or false"),
        ("stop", b" " * 70_000, "more than"),
    ],
)
def test_what_is_wrong_in_a_request_is_named(job: Served, path: str, body: bytes, what: str) -> None:
    answer = job.http.post(f"/jobs/{job.job.job_id}/{path}", content=body)
    assert answer.status_code in (400, 413)
    assert what in answer.json()["errors"][0]


def test_a_limit_of_too_many_digits_is_none(job: Served) -> None:
    assert job.get("/jobs/JOB/exceptions?maxExceptions=" + "7" * 5_000) == job.get("/jobs/JOB/exceptions")


def test_a_job_is_cancelled(tmp_path: Path) -> None:
    with served(headgate__storage__dir=str(tmp_path)) as job:
        assert job.http.patch(f"/jobs/{job.job.job_id}?mode=cancel").status_code == 202
        outcome = job.job.wait(120)
        assert outcome is not None
        assert outcome.status.word == "cancelled"


def test_a_checkpoint_is_ordered_and_asked_about(job: Served) -> None:
    answer = job.http.post(f"/jobs/{job.job.job_id}/checkpoints", json={"triggerId": "t1"})
    assert (answer.status_code, answer.json()) == (202, {"request-id": "t1"})
    assert "/chk-" in job.outcome("/jobs/JOB/checkpoints/t1")["external-path"]


def test_a_savepoint_is_ordered_once_under_one_id_and_disposed_of(job: Served, tmp_path: Path) -> None:
    body = {"target-directory": str(tmp_path), "formatType": "NATIVE", "triggerId": "t2"}
    for _ in range(2):
        assert job.http.post(f"/jobs/{job.job.job_id}/savepoints", json=body).json() == {"request-id": "t2"}
    location = Path(job.outcome("/jobs/JOB/savepoints/t2")["location"])
    assert list(tmp_path.iterdir()) == [location]
    assert (location / "_metadata").exists()
    trigger = job.http.post("/savepoint-disposal", json={"savepoint-path": str(location)}).json()["request-id"]
    assert job.outcome(f"/savepoint-disposal/{trigger}") == {}
    assert not location.exists()


def test_a_savepoint_without_a_target_says_what_to_set(job: Served) -> None:
    trigger = job.http.post(f"/jobs/{job.job.job_id}/savepoints", json={}).json()["request-id"]
    cause = job.outcome(f"/jobs/JOB/savepoints/{trigger}")["failure-cause"]
    assert "execution.checkpointing.savepoint-dir" in cause["stack-trace"]


def test_disposal_of_what_is_no_savepoint_fails_in_words(job: Served, tmp_path: Path) -> None:
    trigger = job.http.post("/savepoint-disposal", json={"savepoint-path": str(tmp_path)}).json()["request-id"]
    assert "no snapshot" in job.outcome(f"/savepoint-disposal/{trigger}")["failure-cause"]["stack-trace"]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/savepoint-disposal", "savepoint-path"),
        ("/jobs/JOB/savepoints", "target-directory"),
        ("/jobs/JOB/stop", "targetDirectory"),
    ],
)
def test_no_request_makes_the_driver_connect_to_a_server_of_its_choice(job: Served, path: str, field: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        host = f"127.0.0.1:{server.getsockname()[1]}"
        body = {field: f"s3://key:secret@bucket/a?endpoint_override={host}&scheme=http&region=us-east-1"}
        answer = job.http.post(path.replace("JOB", job.job.job_id), json=body)
        assert answer.status_code == 400
        assert "that the job is not configured with" in answer.json()["errors"][0]
        with pytest.raises(BlockingIOError):
            server.accept()
    assert job.get("/jobs/JOB/status") == {"status": "RUNNING"}


def test_a_job_that_is_stopped_tells_its_savepoint_before_it_is_gone(tmp_path: Path) -> None:
    with served(headgate__storage__dir=str(tmp_path / "storage"), **CHECKPOINTS) as job:
        body = {"targetDirectory": str(tmp_path / "savepoints"), "drain": False}
        trigger = job.http.post(f"/jobs/{job.job.job_id}/stop", json=body).json()["request-id"]
        location = Path(job.outcome(f"/jobs/JOB/savepoints/{trigger}")["location"])
        assert location.parent == tmp_path / "savepoints"
        outcome = job.job.wait(120)
        assert outcome is not None
        assert outcome.status.word == "finished"


def test_a_job_is_cancelled_once_its_savepoint_is_there(tmp_path: Path) -> None:
    with served(headgate__storage__dir=str(tmp_path / "storage"), **CHECKPOINTS) as job:
        body = {"target-directory": str(tmp_path / "savepoints"), "cancel-job": True}
        trigger = job.http.post(f"/jobs/{job.job.job_id}/savepoints", json=body).json()["request-id"]
        location = Path(job.outcome(f"/jobs/JOB/savepoints/{trigger}")["location"])
        assert (location / "_metadata").exists()
        outcome = job.job.wait(120)
        assert outcome is not None
        assert outcome.status.word == "cancelled"


@pytest.mark.slow
def test_metrics_are_listed_by_name_and_read_by_it(job: Served) -> None:
    until(lambda: job.get("/jobs/JOB/vertices/0/metrics") != [])
    assert {"id": "numRestarts"} in job.get("/jobs/JOB/metrics")
    assert job.get("/jobs/JOB/metrics?get=numRestarts,nothing") == [{"id": "numRestarts", "value": "0"}]
    assert {"id": "0.numRecordsOut"} in job.get("/jobs/JOB/vertices/0/metrics")
    until(lambda: int(job.get("/jobs/JOB/vertices/0/metrics?get=0.numRecordsOut")[0]["value"]) > 0)
    summary = job.get("/jobs/JOB/vertices/0/subtasks/metrics?get=numRecordsOut&agg=min,sum")[0]
    assert summary.keys() == {"id", "min", "sum"}
    assert summary["min"] == summary["sum"] > 0
    vertex = job.get("/jobs/JOB")["vertices"][0]
    assert vertex["metrics"]["write-records"] > 0
    assert vertex["metrics"]["write-records-complete"] is True


def test_back_pressure_and_watermarks_are_told_for_each_subtask(job: Served) -> None:
    until(lambda: job.get("/jobs/JOB/vertices/0/metrics") != [])
    found = job.get("/jobs/JOB/vertices/1/backpressure")
    assert (found["status"], found["backpressureLevel"]) == ("ok", "ok")
    assert {"subtask", "backpressureLevel", "ratio", "busyRatio", "idleRatio"} <= found["subtasks"][0].keys()
    assert job.get("/jobs/JOB/vertices/1/watermarks") == []  # this job has no event time


def test_prometheus_reads_all_metrics(job: Served) -> None:
    answer = job.http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert f'headgate_job_numRestarts{{job_id="{job.job.job_id}",job_name="word-count"}} 0.0' in answer.text


@pytest.mark.slow
def test_metrics_are_open_without_the_token_if_an_option_says_so() -> None:
    with served(**{"headgate.rest.open-metrics": "true"}) as job:
        assert httpx.get(job.address.url + "/metrics", verify=False).status_code == 200
        assert httpx.get(job.address.url + "/v1/metrics", verify=False).status_code == 200
        assert httpx.get(job.address.url + "/jobs", verify=False).status_code == 401
