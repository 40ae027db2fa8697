"""The way into a job: what goes wrong there is told, and never costs the job."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
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
