"""`make` finds slow tests, and those on Spark, by the text of their files."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
TAKEN_WHOLE = {"simulation", "scenarios"}
"""Folders from which make takes every file."""


def test_only_files_of_tests_mark_tests_that_make_looks_for() -> None:
    helpers = {
        path.relative_to(TESTS)
        for path in TESTS.rglob("*.py")
        if not path.name.startswith("test_") and re.search(r"mark\.(slow|spark|standalone)\b", path.read_text())
    }
    elsewhere = sorted(str(path) for path in helpers if path.parts[0] not in TAKEN_WHOLE)
    assert not elsewhere, "tests that these mark would not run: write the mark in the test_*.py files"
