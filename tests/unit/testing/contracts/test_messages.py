"""What a check says that fails under pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

TEST: Final = """
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.testing.contracts.source import SOURCE_CHECKS, SourceCase

def test_mine():
    SOURCE_CHECKS[0](SourceCase(source=NumberSequenceSource(1, 5), expected=[1, 2, 3, 4]))
"""


@pytest.mark.slow
def test_a_check_that_fails_shows_what_it_has_compared(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_mine.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 1
    assert "assert [1, 2, 3, 4, 5] == [1, 2, 3, 4]" in ended.stdout
