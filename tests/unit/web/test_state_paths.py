"""State over REST: the snapshots of a real job, what is in them, one key of it, and answers that say what to do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from headgate.snapshots import pieces
from headgate.web import state_paths
from tests.unit.web.served import Served, served, until

CHECKPOINTS = {"execution__checkpointing__interval": "20 ms"}
RETAINED = {"execution__checkpointing__num-retained": "3"}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One job for all tests that only look."""
    folder = tmp_path_factory.mktemp("storage")
    with served(headgate__storage__dir=str(folder), **CHECKPOINTS, **RETAINED) as found:
        until(lambda: found.get("/jobs/JOB/checkpoints")["counts"]["completed"] > 5)
        yield found


def answer(job: Served, path: str) -> httpx.Response:
    return job.http.get(path.replace("JOB", job.job.job_id))


def error(job: Served, path: str, status: int) -> str:
    found = answer(job, path)
    assert found.status_code == status
    text: str = found.json()["errors"][0]
    return text


def savepoint(job: Served, folder: Path) -> dict[str, Any]:
    order = job.http.post(f"/jobs/{job.job.job_id}/savepoints", json={"target-directory": str(folder)}).json()
    location = job.outcome(f"/jobs/JOB/savepoints/{order['request-id']}")["location"]
    known = job.get("/jobs/JOB/state/snapshots")["snapshots"]
    found: dict[str, Any] = next(each for each in known if each["location"] == location)
    return found


@pytest.mark.slow
def test_the_retained_checkpoints_and_savepoints_are_listed(job: Served, tmp_path: Path) -> None:
    taken = savepoint(job, tmp_path)
    assert taken["kind"] == "savepoint"
    found = job.get("/jobs/JOB/state/snapshots")
    checkpoints = [each for each in found["snapshots"] if each["kind"] == "checkpoint"]
    assert len(checkpoints) == 3
    assert found["latest"] == checkpoints[0]["id"] == max(each["id"] for each in checkpoints)
    assert found["why"] is None
    assert checkpoints[0]["location"].endswith(f"chk-{found['latest']}")
    assert checkpoints[0]["when"] > 1_600_000_000_000


def test_the_operators_of_the_newest_checkpoint_have_their_states(job: Served) -> None:
    found = job.get("/jobs/JOB/state")
    assert found["snapshot"]["kind"] == "checkpoint"
    states = {operator["uid"]: operator["states"] for operator in found["operators"]}
    (counter,) = [operator for operator in found["operators"] if operator["uid"] == "counter"]
    size = {"bytes": counter["bytes"], "exact": True}
    assert states["counter"] == [
        {"name": "count", "kind": "value", "type": "Long", "entries": 3, "counted": True, **size}
    ]
    assert counter["bytes"] > 0
    only = job.get("/jobs/JOB/state?uid=counter")["operators"]
    assert [operator["uid"] for operator in only] == ["counter"]
    assert states["numbers"][0]["kind"] == "split"


def test_rows_are_shown_a_page_at_a_time(job: Served, tmp_path: Path) -> None:
    at = f"snapshot={savepoint(job, tmp_path)['id']}"
    first = job.get(f"/jobs/JOB/state/counter/count?{at}&limit=2")
    rest = job.get(f"/jobs/JOB/state/counter/count?{at}&limit=2&offset={first['nextOffset']}")
    assert (len(first["rows"]), first["more"], len(rest["rows"]), rest["more"]) == (2, True, 1, False)
    rows = {row["key"]: int(row["value"]) for row in [*first["rows"], *rest["rows"]]}
    assert set(rows) == {"0", "1", "2"}
    assert min(rows.values()) > 0
    assert (rest["kind"], rest["type"], rest["nextOffset"], rest["complete"]) == ("value", "Long", None, True)


def test_a_key_is_found(job: Served) -> None:
    found = job.get("/jobs/JOB/state/counter/count?key=2")
    assert [row["key"] for row in found["rows"]] == ["2"]
    assert found["groupsRead"] < found["groups"]
    assert job.get("/jobs/JOB/state/counter/count?key=7")["rows"] == []


def test_what_is_not_there_is_named(job: Served) -> None:
    assert "counter" in error(job, "/jobs/JOB/state/x/count", 404)
    assert "its states: count" in error(job, f"/jobs/JOB/state/counter/{quote('a/b', safe='')}", 404)
    assert "snapshot 99999" in error(job, "/jobs/JOB/state?snapshot=99999", 404)
    assert "snapshot x" in error(job, "/jobs/JOB/state?snapshot=x", 404)
    assert "no path" in error(job, "/jobs/JOB/state/counter", 404)
    assert "no job 00" in error(job, "/jobs/00/state", 404)
    assert "limit is '0'" in error(job, "/jobs/JOB/state/counter/count?limit=0", 400)
    assert "offset is '-1'" in error(job, "/jobs/JOB/state/counter/count?offset=-1", 400)


def test_a_snapshot_that_is_gone_is_told(job: Served, tmp_path: Path) -> None:
    taken = savepoint(job, tmp_path)
    shutil.rmtree(taken["location"])
    assert "Try again" in error(job, f"/jobs/JOB/state/counter/count?snapshot={taken['id']}", 410)


def test_state_that_is_too_large_is_not_read(job: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "SUBTASK_BYTES_MAX", 1)
    assert "ask Spark SQL" in error(job, "/jobs/JOB/state/counter/count", 422)


def test_a_reading_that_takes_too_long_is_given_up_and_others_are_refused_meanwhile(
    job: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_paths, "ANSWER_S_MAX", 0.0)
    assert "not read within" in error(job, "/jobs/JOB/state", 503)
    monkeypatch.setattr(state_paths, "ANSWER_S_MAX", 60.0)
    until(lambda: answer(job, "/jobs/JOB/state").status_code == 200)


@pytest.mark.slow
def test_a_job_that_keeps_checkpoints_in_memory_says_what_to_set() -> None:
    with served(execution__checkpointing__storage="jobmanager", **CHECKPOINTS) as job:
        until(lambda: job.get("/jobs/JOB/checkpoints")["counts"]["completed"] > 0)
        found = job.get("/jobs/JOB/state/snapshots")
        assert (found["snapshots"], found["latest"]) == ([], None)
        for text in (found["why"], error(job, "/jobs/JOB/state", 404)):
            assert "execution.checkpointing.dir" in text


@pytest.mark.slow
def test_a_job_without_checkpoints_says_what_to_set(tmp_path: Path) -> None:
    with served(headgate__storage__dir=str(tmp_path / "storage")) as job:
        assert "execution.checkpointing.interval" in error(job, "/jobs/JOB/state", 404)
        taken = savepoint(job, tmp_path / "savepoints")
        found = job.get(f"/jobs/JOB/state/counter/count?snapshot={taken['id']}")
        assert {row["key"] for row in found["rows"]} == {"0", "1", "2"}


@pytest.mark.slow
def test_what_a_job_has_started_from_is_shown_until_it_has_a_checkpoint(tmp_path: Path) -> None:
    storage = {"headgate__storage__dir": str(tmp_path / "storage")}
    with served(**storage) as first:
        taken = savepoint(first, tmp_path / "savepoints")
    with served(**storage, **{"execution__state-recovery__path": taken["location"]}) as second:
        assert [each["id"] for each in second.get("/jobs/JOB/state/snapshots")["snapshots"]] == [taken["id"]]
        found = second.get(f"/jobs/JOB/state/counter/count?snapshot={taken['id']}")
        assert len(found["rows"]) == 3
