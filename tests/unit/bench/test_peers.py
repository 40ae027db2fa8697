"""The program that runs on headgate and on PyFlink."""

from __future__ import annotations

from pathlib import Path

from bench.peers.systems import PROGRAM, with_import_root


def test_nothing_but_the_import_root_differs(tmp_path: Path) -> None:
    theirs = PROGRAM.read_text().splitlines()
    ours = with_import_root("headgate", tmp_path).read_text().splitlines()
    changed = [(one, other) for one, other in zip(theirs, ours, strict=True) if one != other]
    assert changed
    assert all(other == one.replace("from pyflink", "from headgate") for one, other in changed)
    assert not any("import" in line and "pyflink" in line for line in ours)
