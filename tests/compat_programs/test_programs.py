"""Programs written for PyFlink run after nothing but the import root is replaced, and print what is expected."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.compat_programs.import_root import with_our_import_root

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
@pytest.mark.slow
def test_program_prints_what_is_expected(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ours = with_our_import_root(program, tmp_path)
    monkeypatch.setattr("sys.argv", [str(ours), "-Dheadgate.deploy.target=minicluster"])
    runpy.run_path(str(ours), run_name="__main__")
    # Subtasks run side by side, so only the lines themselves are certain where there are several of them.
    printed, expected = capfd.readouterr().out.splitlines(), program.with_suffix(".txt").read_text().splitlines()
    assert sorted(printed) == sorted(expected)
