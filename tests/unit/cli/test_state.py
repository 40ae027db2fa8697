"""The command that looks into snapshots: operators, their states, and rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.address import RUN_DIRECTORY
from headgate.cli.exits import ExitCode
from tests.unit.cli.commands import headgate
from tests.unit.web.served import served


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("savepoints")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUN_DIRECTORY, str(folder / "run"))
        with served():
            yield headgate("stop", "word-count", "-p", str(folder), "--json").json()["location"]


def test_operators_are_listed_with_the_states_that_they_have(snapshot: str) -> None:
    done = headgate("state", snapshot)
    assert done.out.startswith("canonical savepoint 1 of job ")
    assert any(line.startswith("counter ") and "keyed state" in line for line in done.out.splitlines())
    found = headgate("state", snapshot, "--json").json()
    assert (found["form"], found["checkpoint_id"]) == ("canonical", 1)
    counter = next(operator for operator in found["operators"] if operator["uid"] == "counter")
    assert counter["has_keyed_state"]
    assert counter["size_bytes"] > 0


def test_states_are_listed_by_the_uid_of_their_operator_or_its_name(snapshot: str) -> None:
    states = headgate("state", snapshot, "counter", "--json").json()["states"]
    assert [(state["name"], state["kind"], state["type"]) for state in states] == [("count", "value", "Long")]
    assert "value" in headgate("state", snapshot, "counter").out
    assert "splits" in headgate("state", snapshot, "Source: numbers").out


def test_rows_of_a_state_are_shown_up_to_a_limit(snapshot: str) -> None:
    rows = headgate("state", snapshot, "counter", "count", "--json").json()["rows"]
    assert {row["key"] for row in rows} <= {0, 1, 2}
    assert all(row["value"] > 0 for row in rows)
    assert len(headgate("state", snapshot, "counter", "count", "--limit", "1").out.splitlines()) == 2


def test_operator_state_is_shown_as_well(snapshot: str) -> None:
    splits = headgate("state", snapshot, "numbers", "splits", "--json").json()["rows"]
    assert [row["subtask"] for row in splits] == [0]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["nobody"], "no operator 'nobody'; there are: "),
        (["counter", "nothing"], "no values of a keyed state 'nothing'"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(snapshot: str, arguments: list[str], what: str) -> None:
    done = headgate("state", snapshot, *arguments)
    assert done.code == ExitCode.FAILED
    assert what in done.err


def test_a_place_without_a_snapshot_is_named(tmp_path: Path) -> None:
    done = headgate("state", str(tmp_path))
    assert done.code == ExitCode.FAILED
    assert f"there is no snapshot at {tmp_path}" in done.err
