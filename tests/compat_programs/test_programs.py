"""Programs written for PyFlink run after nothing but the import root is replaced, and print what is expected."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def with_our_import_root(program: Path, folder: Path) -> Path:
    text, count = re.subn(r"^(from|import) pyflink\b", r"\1 headgate", program.read_text(), flags=re.MULTILINE)
    assert count > 0
    replaced = folder / program.name
    replaced.write_text(text)
    return replaced


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
