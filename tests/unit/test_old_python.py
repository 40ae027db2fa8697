"""A Python that is too old is refused where headgate is imported, whatever has put it on the path."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = "import sys; sys.version_info = (3, 10, 13, 'final', 0); import headgate"


@pytest.mark.slow
def test_what_to_start_instead_is_said() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert "headgate needs Python 3.11 or newer, this is 3.10: " in done.stderr
    assert "PYSPARK_DRIVER_PYTHON" in done.stderr
