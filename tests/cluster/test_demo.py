"""The demo, as `make demo DEMO_ARGS=--fast` runs it. Downloads its data if no run has done so before."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "flights" / "demo.py"


@pytest.mark.spark
@pytest.mark.soak
def test_the_fast_demo_loses_a_worker_and_ends_with_the_right_output() -> None:
    done = subprocess.run([sys.executable, str(DEMO), "--fast"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"killed a worker with SIGKILL", done.stdout)) == 1
    assert "624 alerts, read back with Spark SQL: identical" in done.stdout
    assert done.stderr == ""
