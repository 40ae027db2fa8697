"""The daemon of an embedded session."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADING = """
import sys
from headgate.deploy.spark.daemon import PRELOADED, preload
preload()
missing = [module for module in PRELOADED if module not in sys.modules]
(threads,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("Threads:")]
print(missing, threads)
"""


@pytest.mark.slow
def test_what_is_loaded_before_the_fork_is_there_and_starts_no_thread() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True, timeout=300)
    assert loaded.stdout.split("\n")[0] == "[] 1"


SLOT = """
import sys
import headgate.deploy.spark.slot_process
of_driver = "cryptography", "headgate.runtime.job_storage.job_storage", "headgate.deploy.code.archives"
print([module for module in of_driver if module in sys.modules])
"""


@pytest.mark.slow
def test_a_slot_loads_nothing_that_only_the_driver_needs() -> None:
    loaded = subprocess.run([sys.executable, "-c", SLOT], capture_output=True, text=True, check=True, timeout=300)
    assert loaded.stdout == "[]\n"
