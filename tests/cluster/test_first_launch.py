"""What dies while a job launches its first slots, in an embedded session: the restart strategy decides."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.soak]

STRIKE = """
import os
import signal
import sys


def strike(what):
    try:
        os.unlink(os.path.join(os.environ["STRIKES"], what))
    except OSError:
        return
    if what == "exit":
        print("no luck", file=sys.stderr)
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


if "headgate.deploy.spark.daemon" in sys.orig_argv:
    strike("exit")
    strike("daemon")
    os.register_at_fork(after_in_child=lambda: strike("worker"))
"""
"""What each Python runs when it starts: of Spark's daemon and its workers, one ends once where a file says so."""

PROGRAM = """
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment

restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 ms"}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(restarts)).set_parallelism(2)
env.from_collection([1, 2, 3]).map(lambda number: number * number).print()
env.execute()
"""


def run(folder: Path, what: str) -> subprocess.CompletedProcess[str]:
    """Run a job of whose processes one ends as it starts."""
    strikes, path = folder / "strikes", folder / "path"
    for each in (strikes, path):
        each.mkdir()
    (strikes / what).touch()
    (path / "sitecustomize.py").write_text(STRIKE)
    (folder / "program.py").write_text(PROGRAM)
    search = os.pathsep.join([str(path), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        [sys.executable, str(folder / "program.py")],
        env={**os.environ, "PYTHONPATH": search, "STRIKES": str(strikes)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not (strikes / what).exists(), "nothing was struck"
    return ended


@pytest.mark.parametrize("what", ["worker", "daemon"])
def test_a_process_that_is_killed_during_the_first_launch_is_for_the_restart_strategy(
    what: str, tmp_path: Path
) -> None:
    ended = run(tmp_path, what)
    assert ended.returncode == 0, ended.stderr
    assert sorted(line[-1] for line in ended.stdout.splitlines()) == ["1", "4", "9"]
    assert "the job starts again (restart 1): the stage that hosts the slots ended: " in ended.stderr
    assert "PYSPARK_PYTHON" not in ended.stderr


def test_a_python_that_cannot_start_fails_the_job_at_once_with_what_it_has_printed(tmp_path: Path) -> None:
    ended = run(tmp_path, "exit")
    assert ended.returncode == 1
    assert "the job starts again" not in ended.stderr
    assert "ends as soon as it is started: no luck. Name another one: PYSPARK_PYTHON" in ended.stderr
