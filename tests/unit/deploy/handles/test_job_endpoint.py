"""The way into a job: what goes wrong there is told, and never costs the job."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.checkpoint.store import MemoryStore
from headgate.deploy.handles.job_endpoint import JobFolder
from headgate.ids import JobId
from tests.unit.datastream.environments import environment
from tests.unit.web.served import until


def test_a_folder_for_addresses_that_cannot_be_used_is_warned_of_and_the_job_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "file"))
    env = environment(headgate__rest__enabled="true")
    with (
        caplog.at_level(logging.WARNING, "headgate"),
        env.from_collection([1, 2]).execute_and_collect() as found,
    ):
        assert sorted(found) == [1, 2]
    until(lambda: "finds job" in caplog.text)
    assert "only by its storage" in caplog.text


def test_a_jobs_folder_has_an_absolute_location_if_it_is_not_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job_id = JobId("ab" * 16)
    assert JobFolder.at(MemoryStore(), "checkpoints", job_id).location == f"{tmp_path}/checkpoints/{job_id}"
    assert JobFolder.at(MemoryStore(), None, job_id).location is None
