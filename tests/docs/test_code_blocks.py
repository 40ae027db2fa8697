"""Programs in README and docs run, and print what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, Block, all_blocks, blocks, blocks_with_server, run_apart, run_here


def program(block: Block, folder: Path) -> Path:
    path = folder / "program.py"
    path.write_text(block.code)
    return path


def test_programs_that_others_run_can_be_read() -> None:
    """Those of Spark and of servers, which make test and soak run."""
    for block in (*all_blocks(on_spark=True), *blocks_with_server()):
        compile(block.code, str(block), "exec")


def test_a_program_that_makes_a_session_says_that_it_needs_spark() -> None:
    here = (*all_blocks(on_spark=False), *blocks_with_server())
    assert [str(block) for block in here if "SparkSession.builder" in block.code] == []


SLOW = {"async.md-3", "checkpoints.md-1", "savepoints.md-1", "sinks.md-3", "sources.md-1", "time.md-2"}
"""Programs that take a second."""
IN_PYTHON = [
    pytest.param(block, marks=pytest.mark.slow if str(block) in SLOW else (), id=str(block))
    for block in all_blocks(on_spark=False)
]


@pytest.mark.parametrize("block", IN_PYTHON)
def test_program_prints_what_the_page_says(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_here(program(block, tmp_path), monkeypatch)
    printed = capfd.readouterr().out
    assert printed == (block.printed or "")


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks_with_server(), ids=str)
def test_program_that_needs_a_server_prints_what_the_page_says(
    block: Block,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    environ: dict[str, str] = request.getfixturevalue(str(block.needs))
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    capfd.readouterr()
    test_program_prints_what_the_page_says(block, tmp_path, monkeypatch, capfd)


TEST = re.compile(r"^def test_", re.MULTILINE)
NEWER_SPARK = 4


def blocks_with_tests(page: Path) -> list[Block]:
    return [block for block in blocks(page) if TEST.search(block.code)]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks_with_tests(page)], ids=lambda page: page.name)
def test_tests_in_a_page_pass(page: Path, tmp_path: Path) -> None:
    for block in blocks_with_tests(page):
        (tmp_path / f"test_{block.number}.py").write_text(block.code)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


ON_SPARK = [
    # The others run on the oldest Spark in each run of continuous integration (`tests.docs.on_spark`).
    pytest.param(block, marks=() if block.spark >= NEWER_SPARK else pytest.mark.long, id=str(block))
    for block in all_blocks(on_spark=True)
]


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize("block", ON_SPARK)
def test_program_runs_on_spark(block: Block, tmp_path: Path) -> None:
    printed = run_apart(program(block, tmp_path), cwd=tmp_path).stdout
    if block.printed is not None:
        assert printed == block.printed


def test_the_first_program_of_the_readme_has_twelve_lines() -> None:
    first = next(block for block in all_blocks(on_spark=False) if block.page.name == "README.md")
    assert len([line for line in first.code.splitlines() if line.strip()]) == 12


def test_a_source_of_ones_own_takes_less_than_forty_lines() -> None:
    page = next(block for block in all_blocks(on_spark=False) if str(block) == "sources.md-1")
    source = page.code[page.code.index("class TableSource") : page.code.index("cities = ")]
    assert "SOURCE_CHECKS" in page.code
    assert len(source.strip().splitlines()) < 40
