"""The examples run on a MiniCluster and give what they promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, run_apart, run_here

EXAMPLES = ROOT / "examples"
Printed = pytest.CaptureFixture[str]


def test_word_count_counts_each_word_up(monkeypatch: pytest.MonkeyPatch, capfd: Printed) -> None:
    run_here(EXAMPLES / "word_count.py", monkeypatch)
    counts = [line.split("> ")[1] for line in capfd.readouterr().out.splitlines()]
    assert [count for count in counts if count.startswith("(to,")] == [f"(to,{n})" for n in range(1, 5)]
    assert len(counts) == 34


OF_STATE = {
    "count_window_average.py": ["(1, 4)", "(1, 5)"],
    "event_time_timer.py": ["('ann', 3)", "('bob', 2)", "('cid', 1)", "('ann', 1)"],
    "rules_and_items.py": [*["MATCH: red square - red circle"] * 2, "MATCH: blue circle - blue star"],
    "ttl.py": [
        "ann says one, after nothing",
        "ann says two, after one",
        "bob says one, after nothing",
        "ann says three, after nothing",
        "ann says four, after three",
    ],
}


@pytest.mark.parametrize("name", OF_STATE)
@pytest.mark.slow
def test_examples_of_state_print_what_they_promise(name: str, monkeypatch: pytest.MonkeyPatch, capfd: Printed) -> None:
    run_here(EXAMPLES / "state" / name, monkeypatch)
    assert capfd.readouterr().out.splitlines() == OF_STATE[name]


def test_file_to_file_adds_up_orders_and_leaves_broken_lines_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orders.csv").write_text("customer,amount\nann,5\nbob,7\nann,many\nann,3\n")
    run_here(EXAMPLES / "file_to_file.py", monkeypatch, str(tmp_path / "orders.csv"), str(tmp_path / "totals"))
    lines = [line for part in (tmp_path / "totals").glob("part-*") for line in part.read_text().splitlines()]
    totals = [(total["customer"], total["amount"]) for total in map(json.loads, lines)]
    assert totals == [("ann", 5), ("bob", 7), ("ann", 8)]


def test_file_to_file_says_how_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="usage"):
        run_here(EXAMPLES / "file_to_file.py", monkeypatch)


def test_every_example_has_a_test() -> None:
    tested = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    programs = [path for folder in (".", "state", "services") for path in (EXAMPLES / folder).glob("*.py")]
    assert [path.name for path in programs if path.name not in tested] == []


@pytest.mark.soak
@pytest.mark.spark
def test_word_count_runs_on_an_embedded_session() -> None:
    console = run_apart(EXAMPLES / "word_count.py").stdout
    counts = [line.split("> ")[1] for line in console.splitlines() if "> (" in line]
    assert [count for count in counts if count.startswith("(to,")] == [f"(to,{n})" for n in range(1, 5)]
    assert len(counts) == 34
