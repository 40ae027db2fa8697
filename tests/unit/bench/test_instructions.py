"""Instructions for each record: what callgrind's files come to, and what is too many."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import instructions
from bench.counted_jobs import COUNTS, JOBS, run
from bench.instructions import RECORDED, ROOT, Build, CountError, as_recorded, excess, per_record, table, total


def write(out: Path, totals: list[int]) -> None:
    for number, value in enumerate(totals, start=1):
        out.with_name(f"{out.name}.{number}").write_text(f"version: 1\nfn=(1) main\ntotals: {value}\n")


def test_figure_is_what_additional_records_took_in_each_slot(tmp_path: Path) -> None:
    more = COUNTS[1] - COUNTS[0]
    write(tmp_path / "out", [7, 1_000, 7, 1_000 + 5 * more, 7, 2_000, 7, 2_000 + 12 * more])
    assert list(per_record(["a", "c"], tmp_path / "out")) == [5.0, 6.0]


def test_file_without_totals_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.2").write_text("version: 1\n")
    with pytest.raises(CountError, match=r"out\.2.*valgrind --version"):
        total(tmp_path / "out.2")


def test_only_growth_above_the_slack_is_marked() -> None:
    before = {"a": 1_000.0, "d": 1_000.0}
    lines = table({"a": 1_030.0, "d": 1_031.0, "e": 5.0}, before).splitlines()
    assert [line.endswith("TOO MANY") for line in lines] == [False, False, True, False]
    assert excess({"a": 900.0}, before) == {"a": -0.1}


def test_another_build_has_no_recorded_figures(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / RECORDED).write_text(json.dumps({"3.11": {"fingerprint": "f00", "figures": {"a": 5}}}))
    assert as_recorded(tmp_path, Build("3.11", "f00")) == {"a": 5}
    assert as_recorded(tmp_path, Build("3.11", "f01")) is None
    assert as_recorded(tmp_path, Build("3.12", "f00")) is None


def test_no_history_to_compare_with_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(CountError, match="clone with all commits"):
        instructions.as_counted_before(["a"], Path("valgrind"))


def test_every_job_has_a_committed_figure() -> None:
    for entry in json.loads((ROOT / RECORDED).read_text()).values():
        assert entry["figures"].keys() == {*JOBS, *(f"{row}+" for row in JOBS)}


@pytest.mark.slow
@pytest.mark.parametrize("row", JOBS)
def test_job_runs_to_its_end_on_a_clock_that_moves_when_read(row: str, tmp_path: Path) -> None:
    run(row, 100, str(tmp_path))
