"""Which path a process and a job run: the compiled module, or Python where there is none that fits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment

ROOT = Path(__file__).parents[2]
OFF = {"HEADGATE_NATIVE": "off"}


def run(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
    path = {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=path | environ)


def test_a_process_may_be_kept_from_loading_the_module() -> None:
    done = run("from headgate import native; print(native.chosen('auto'), native.describe())", **OFF)
    assert done.stdout == "None Python (headgate._native is switched off by the environment variable HEADGATE_NATIVE)\n"


STALE = """
import sys, types
sys.modules["headgate._native"] = types.ModuleType("headgate._native")  # as of sources from before INTERFACE
"""
FREE_THREADED = """
import sysconfig
sysconfig.get_config_vars()["Py_GIL_DISABLED"] = 1
"""
NOT_TO_BE_USED = pytest.mark.parametrize(
    ("before", "reason", "step"),
    [
        (STALE, "stale: it was built from the sources of another headgate", "run make native"),
        (FREE_THREADED, "not for free-threaded Python, whose reference counts", "use a Python with the global"),
    ],
    ids=["stale", "free-threaded"],
)


@NOT_TO_BE_USED
def test_a_module_that_would_do_wrong_is_not_used_and_the_log_says_what_to_do(
    before: str, reason: str, step: str
) -> None:
    logged = "import logging; logging.basicConfig(level='INFO')\n"
    done = run(f"{before}{logged}from headgate import native; print(native.chosen('auto'), native.describe())")
    assert done.stdout.startswith(f"None Python (headgate._native is {reason}"), done.stderr
    (line,) = done.stderr.splitlines()
    assert f"hot path: Python (headgate._native is {reason}" in line
    assert f"; to run compiled code, {step}" in line


PROGRAM = """
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
conf = Configuration.from_dict({"headgate.native": "on", "headgate.deploy.target": "minicluster"})
env = StreamExecutionEnvironment.get_execution_environment(conf)
env.from_collection([1]).map(lambda number: [number]).print()
env.execute()
"""


@pytest.mark.slow
def test_a_job_that_must_run_compiled_names_what_is_missing_before_it_starts() -> None:
    done = run(PROGRAM, **OFF)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("headgate.errors.EnvironmentFault: headgate.native is on, but headgate._native is switched")
    assert "unset the variable, on the driver and every worker; or set headgate.native to auto" in last


@pytest.mark.slow
@NOT_TO_BE_USED
def test_a_job_that_must_run_compiled_does_not_start_with_such_a_module(before: str, reason: str, step: str) -> None:
    done = run(before + PROGRAM)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"headgate.errors.EnvironmentFault: headgate.native is on, but headgate._native is {reason}")
    assert step in last


def test_an_unknown_choice_is_refused() -> None:
    conf = Configuration.from_dict({"headgate.native": "fast"})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.from_collection([1]).print()
    with pytest.raises(Exception, match=r"headgate\.native.*auto, on, off"):
        env.execute()


@pytest.mark.parametrize("choice", ["auto", "off"])
def test_results_are_the_same_whichever_path_runs(choice: str) -> None:
    kept: list[Any] = []

    def noted(number: int) -> dict[str, list[int]]:
        kept.append({"numbers": [number]})
        return kept[-1]  # type: ignore[no-any-return]

    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"headgate.native": choice, "headgate.deploy.target": "minicluster"})
    ).set_parallelism(1)
    results = env.from_collection(list(range(5))).map(noted)
    with results.execute_and_collect() as found:
        assert list(found) == [{"numbers": [number]} for number in range(5)]
