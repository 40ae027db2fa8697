"""One live job for each folder."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.files.owner import OWNER_FILE, claim, give_up
from headgate.connectors.files.places import Place
from headgate.errors import SinkError
from headgate.testing.contracts.sink import JOB, OTHER_JOB
from tests.power import NoPowerError, disk


def folder(path: Path) -> Place:
    return Place("", str(path))


def rewrite(path: Path, **changes: Any) -> None:
    """Turn the owner's file into what another process would have written."""
    file = path / OWNER_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_folder_is_created(tmp_path: Path) -> None:
    claim(folder(tmp_path / "a" / "b"), JOB)
    assert json.loads((tmp_path / "a" / "b" / OWNER_FILE).read_text())["job_id"] == JOB.job_id


def test_folder_of_a_live_job_is_refused_naming_the_job(tmp_path: Path) -> None:
    claim(folder(tmp_path), JOB)
    with pytest.raises(
        SinkError, match=rf"job {JOB.job_id} .lineage {JOB.lineage}., process {os.getpid()} on .*choose"
    ):
        claim(folder(tmp_path), OTHER_JOB)


def test_folder_of_a_job_on_another_host_is_refused(tmp_path: Path) -> None:
    claim(folder(tmp_path), JOB)
    rewrite(tmp_path, host="elsewhere", pid=dead_pid())
    with pytest.raises(SinkError, match="on elsewhere"):
        claim(folder(tmp_path), OTHER_JOB)


def test_folder_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    claim(folder(tmp_path), JOB)
    rewrite(tmp_path, pid=dead_pid())
    claim(folder(tmp_path), OTHER_JOB)
    assert json.loads((tmp_path / OWNER_FILE).read_text())["job_id"] == OTHER_JOB.job_id
    assert [path.name for path in tmp_path.iterdir()] == [OWNER_FILE]


def test_folder_of_an_earlier_process_with_our_id_is_taken_over(tmp_path: Path) -> None:
    claim(folder(tmp_path), JOB)
    rewrite(tmp_path, process="of the container before")
    claim(folder(tmp_path), OTHER_JOB)


def test_same_job_in_a_new_process_is_the_owner_now(tmp_path: Path) -> None:
    claim(folder(tmp_path), JOB)
    rewrite(tmp_path, host="the driver before", pid=1)
    claim(folder(tmp_path), JOB)
    found = json.loads((tmp_path / OWNER_FILE).read_text())
    assert (found["host"], found["pid"]) == (socket.gethostname(), os.getpid())


def test_the_same_job_with_other_storage_is_refused_while_its_first_driver_runs(tmp_path: Path) -> None:
    claim(folder(tmp_path), JOB)
    elsewhere = replace(JOB, lineage=OTHER_JOB.lineage)
    with pytest.raises(SinkError, match=rf"belongs to job {JOB.job_id} \(lineage {JOB.lineage}\)"):
        claim(folder(tmp_path), elsewhere)
    rewrite(tmp_path, host="elsewhere", pid=1)
    claim(folder(tmp_path), elsewhere)
    give_up(folder(tmp_path), JOB)
    assert json.loads((tmp_path / OWNER_FILE).read_text())["lineage"] == str(elsewhere.lineage)


def test_folder_given_up_is_free(tmp_path: Path) -> None:
    claim(folder(tmp_path), JOB)
    give_up(folder(tmp_path), OTHER_JOB)
    assert (tmp_path / OWNER_FILE).exists()
    give_up(folder(tmp_path), JOB)
    give_up(folder(tmp_path), JOB)
    claim(folder(tmp_path), OTHER_JOB)


@pytest.mark.parametrize("torn", ["", "{", '{"job_id": "ab', "\0" * 100], ids=["empty", "short", "shorter", "zeros"])
def test_a_file_that_was_cut_short_stops_no_job(tmp_path: Path, torn: str, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / OWNER_FILE).write_text(torn)
    claim(folder(tmp_path), JOB)
    assert json.loads((tmp_path / OWNER_FILE).read_text())["job_id"] == JOB.job_id
    assert "is cut short, so it protects no job" in caplog.text


OF_OTHER_KIND = '{"job_id": "ab", "host": "h", "pid": "12", "process": "p", "since_ms": 1}'


@pytest.mark.parametrize("other", ["null", "[]", '{"owner": "me"}', OF_OTHER_KIND])
def test_a_file_of_another_program_is_not_guessed_at(tmp_path: Path, other: str) -> None:
    (tmp_path / OWNER_FILE).write_text(other)
    with pytest.raises(SinkError, match="does not name a job"):
        claim(folder(tmp_path), JOB)


def test_a_file_of_a_later_release_protects_its_job(tmp_path: Path) -> None:
    claim(folder(tmp_path), OTHER_JOB)
    rewrite(tmp_path, added_later=1)
    with pytest.raises(SinkError, match=f"belongs to job {OTHER_JOB.job_id}"):
        claim(folder(tmp_path), JOB)
    rewrite(tmp_path, pid=dead_pid())
    claim(folder(tmp_path), JOB)


@pytest.mark.parametrize("syncs", range(5))
def test_a_loss_of_power_while_a_folder_is_claimed_leaves_a_whole_file_or_none(tmp_path: Path, syncs: int) -> None:
    with disk(tmp_path) as power:
        power.power_left = syncs
        with suppress(NoPowerError):
            claim(folder(tmp_path), JOB)
        power.lose_power()
        if syncs == 4:
            assert json.loads((tmp_path / OWNER_FILE).read_text())["job_id"] == JOB.job_id
        claim(folder(tmp_path), JOB)


def test_a_job_that_claims_its_folder_again_never_leaves_it_without_a_whole_file(tmp_path: Path) -> None:
    claim(folder(tmp_path), JOB)
    with disk(tmp_path) as power:
        claim(folder(tmp_path), JOB)
        power.lose_power()
        claim(folder(tmp_path), JOB)
    assert [path.name for path in tmp_path.iterdir()] == [OWNER_FILE]


def test_path_that_is_a_file_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(SinkError, match=r"cannot write to the folder '.*out'"):
        claim(folder(tmp_path / "out"), JOB)
