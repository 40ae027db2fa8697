"""The demo of payments leaves nothing behind when it is interrupted. All of it runs with `make payments`."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headgate.errors import EnvironmentFault
from headgate.testing.servers.kafka_download import missing_programs
from headgate.testing.servers.postgres import find_programs

pytestmark = [pytest.mark.standalone, pytest.mark.soak]

DEMO = Path(__file__).parents[2] / "examples" / "payments" / "payments_demo.py"
END_S_MAX = 120.0


@pytest.fixture
def demo() -> Iterator[subprocess.Popen[str]]:
    """The demo, as a user of an active virtual environment starts it."""
    if (missing := missing_programs()) is not None:
        pytest.skip(missing)
    try:
        find_programs()
    except EnvironmentFault as fault:
        pytest.skip(str(fault))
    process = subprocess.Popen(
        [sys.executable, "-u", str(DEMO), "--fast"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    family: list[psutil.Process] = []
    try:
        yield process
    finally:
        if process.poll() is None:
            family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
        for each in family:
            each.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_an_interrupted_demo_leaves_no_process(demo: subprocess.Popen[str]) -> None:
    assert demo.stdout is not None
    told = []
    for line in demo.stdout:
        told.append(line)
        if "the job is submitted" in line:
            break
    family = psutil.Process(demo.pid).children(recursive=True)
    assert len(family) > 5, told
    demo.send_signal(signal.SIGINT)
    rest = demo.stdout.read()
    assert demo.wait(END_S_MAX) == 1, rest
    assert rest.startswith("\nInterrupted: everything was stopped.")
    _, left = psutil.wait_procs(family, timeout=300.0)
    assert left == []
