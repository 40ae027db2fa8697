"""Doctests are looked for only in files with an example: going through all modules took a fifth of the collection."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

Collectors = list[pytest.Collector]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Collectors, Collectors]:
    found = yield
    if file_path.suffix != ".py" or ">>>" in file_path.read_text():
        return found
    return [each for each in found if not isinstance(each, DoctestModule)]
