"""The contract of sinks, on each sink."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.testing.contracts.sink import SINK_CHECKS, SinkCase
from tests.contract.file_sinks import CASES, Folders


@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_sink(case: Callable[[Folders], SinkCase], check: Callable[[SinkCase], None], tmp_path: Path) -> None:
    numbers = itertools.count()
    check(case(Folders(lambda: str(tmp_path / str(next(numbers))))))
