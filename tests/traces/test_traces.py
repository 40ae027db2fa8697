"""Every trace is answered as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.replay import replay, traces


@pytest.mark.parametrize("path", traces(), ids=lambda path: path.stem)
def test_trace_is_answered_as_written(path: Path) -> None:
    assert replay(path) == path.read_text(), "if this change is meant: python -m tests.traces.replay --rewrite"
