"""The public simulator: it finds what a program does wrong under faults, and nothing in a program that is right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.errors import ProgramError
from headgate.testing.sim import PromiseBroken, simulate
from headgate.testing.sim.__main__ import main
from headgate.testing.sim.simulate import Simulation
from tests.unit.testing.sim import programs

ROOT = Path(__file__).parents[4]


@pytest.mark.slow
@pytest.mark.parametrize("program", [programs.numbered, programs.two_streams, programs.as_lists])
def test_a_program_that_is_right_keeps_its_promises(program: Callable[..., Any]) -> None:
    summary = simulate(program, seeds=6)
    assert summary.seeds == 6
    assert summary.restarts > 1
    assert summary.checkpoints > 10
    assert summary.rescales > 0


@pytest.mark.slow
def test_some_runs_go_on_at_another_parallelism_from_what_a_job_has_left() -> None:
    simulation = Simulation(programs.numbered)
    jobs = [simulation(seed).job for seed in range(1, 16)]
    rescaled = [job for job in jobs if len(set(re.findall(r"parallelism (\d)", job))) > 1]
    assert rescaled
    assert any("is stopped with a savepoint; then" in job for job in jobs)


@pytest.mark.slow
def test_state_in_an_attribute_is_found_by_its_output() -> None:
    with pytest.raises(PromiseBroken) as broken:
        simulate(programs.careless, seeds=20)
    first, *story = str(broken.value).splitlines()
    assert "stream 'output' differs: " in first
    assert "('milk', 1)" in first
    assert any(line.strip().startswith("reproduce: simulate(..., seeds=[") for line in story)


def test_a_function_that_cannot_be_restored_is_found_by_its_error() -> None:
    with pytest.raises(PromiseBroken, match=r"failed without being made to: .*is unknown here"):
        simulate(programs.not_again, seeds=20)


@pytest.mark.slow
def test_the_outcome_says_what_must_be_the_same() -> None:
    with pytest.raises(PromiseBroken, match="stream 'output' differs"):
        simulate(programs.running_total, seeds=20)
    assert simulate(programs.running_total, seeds=5, outcome=programs.highest).seeds == 5


@pytest.mark.slow
def test_an_outcome_that_differs_is_shown() -> None:
    with pytest.raises(PromiseBroken, match=r"expected \d+, found \d+"):
        simulate(programs.careless, seeds=20, outcome=lambda records: max(number for _, number in records))


def test_seeds_may_be_named() -> None:
    assert simulate(programs.numbered, seeds=[7, 3]).seeds == 2


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (programs.endless, "'Source: forever' never ends"),
        (programs.nothing, "returned None, but the simulator needs a DataStream"),
        (programs.badly_named, "'my.words' cannot be the name of a stream"),
    ],
)
def test_a_program_that_cannot_be_simulated_is_refused(program: Callable[..., Any], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        simulate(program, seeds=1)


def test_an_operator_with_the_uid_of_a_stream_is_refused_with_both_names() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_collection([1, 2]).map(str).name("texts").uid("output").map(len).name("lengths")

    with pytest.raises(ProgramError, match=r"operator 'texts' has the uid 'output'.*behind operator 'lengths'"):
        simulate(program, seeds=1)


def test_a_program_that_fails_without_faults_is_told_so() -> None:
    with pytest.raises(PromiseBroken, match=r"without any fault(.|\n)*ZeroDivisionError"):
        simulate(programs.failing, seeds=1)


@pytest.mark.slow
def test_the_command_line_runs_many_seeds_and_tells_which_failed() -> None:
    done = command("tests.unit.testing.sim.programs:careless", "--seeds", "6", "--jobs", "2")
    assert done.returncode == 1
    assert "stream 'output' differs" in done.stdout
    assert "reproduce: python -m headgate.testing.sim tests.unit.testing.sim.programs:careless --seed " in done.stdout
    here = "tests.unit.testing.sim.programs"
    done = command(f"{here}:running_total", "--outcome", f"{here}:highest", "--seeds", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "seeds 1 to 2: 2 passed, 0 failed" in done.stdout


@pytest.mark.slow
def test_a_seed_does_the_same_in_any_process() -> None:
    program = "tests.unit.testing.sim.programs:two_streams"
    # RocksDB writes random ids and the time of day into its files, and evidence of a checkpoint has a digest of them.
    one, other = (
        re.sub(r"(_complete/\S+)-[0-9a-f]{64}", r"\1", command(program, "--seed", "17", PYTHONHASHSEED=seed).stdout)
        for seed in ("1", "2")
    )
    assert one.count("\n") > 100
    assert one == other


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("programs", "'programs' should be module:function"),
        ("no.such:thing", "there is no module 'no' here"),
        ("tests.unit.testing.sim.programs:gone", "module 'tests.unit.testing.sim.programs' has no 'gone'"),
        ("tests.unit.testing.sim.programs:WORDS", "is not a function"),
        ("tests.unit.testing.sim.programs:endless", "'Source: forever' never ends"),
    ],
)
def test_the_command_line_says_what_is_wrong_with_a_name(
    name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        sys.exit(main([name, "--seeds", "1"]))
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def command(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headgate.testing.sim", *arguments],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
