"""Start-up: from `python job.py` to its first output, and from `python session.py` to a SparkSession."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.trial import ROOT, TrialFailedError

SCRIPTS = Path(__file__).parent / "scripts"


def start_up_s(script: str) -> float:
    """Run a script of `bench/scripts`; return the seconds from its start to the time it leaves in its file."""
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        times = Path(folder) / "time"
        began_s = time.monotonic()
        done = subprocess.run(
            [sys.executable, str(SCRIPTS / f"{script}.py"), str(times)],
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        if done.returncode != 0 or not times.exists():
            raise TrialFailedError(f"{script}.py ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return float(times.read_text().split()[0]) - began_s
