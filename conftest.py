"""Doctests are looked for only in files with an example: going through all modules took a fifth of the collection."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from _pytest.doctest import DoctestModule

Collectors = list[pytest.Collector]
OF_DATAFRAMES: Final = re.compile("headgate/(dataframe|table)/")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Collectors, Collectors]:
    found = yield
    if file_path.suffix != ".py" or ">>>" in file_path.read_text():
        return found
    return [each for each in found if not isinstance(each, DoctestModule)]


@pytest.fixture(autouse=True)
def _dataframes_in_this_process(request: pytest.FixtureRequest) -> Generator[None]:
    """Examples of DataFrames run without Spark, with the times of one zone."""
    if not isinstance(request.node, pytest.DoctestItem) or not OF_DATAFRAMES.search(str(request.node.path)):
        yield
        return
    from tests.dataframe_session import session_in_this_process  # noqa: PLC0415  # only for these examples

    with session_in_this_process():
        yield
