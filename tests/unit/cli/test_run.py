"""The command that runs programs: the settings that it hands over, through spark-submit or not, and wrong usage."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.cli.exits import ExitCode
from headgate.deploy import arguments
from headgate.options import REGISTRY, resolve
from tests.unit.cli.commands import headgate


@pytest.fixture(autouse=True)
def _spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = tmp_path / "spark" / "bin" / "spark-submit"
    submit.parent.mkdir(parents=True)
    submit.write_text("")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "job.py"
    path.write_text("raise AssertionError('it is not to run')")
    return str(path)


def submitted(*words: str) -> list[str]:
    done = headgate("run", "--print", "--spark-submit", "--master yarn", *words)
    assert done.code == 0, done.err
    return shlex.split(done.out)


def test_options_reach_a_driver_in_the_cluster_as_sparks_conf(program: str) -> None:
    command = submitted("-p", "3", "-s", "/save", "-n", "-rm", "claim", "-D", "headgate.rest.enabled=false", program)
    assert command[0].endswith("spark-submit")
    assert command[1:3] == ["--master", "yarn"]
    conf = dict(word.split("=", 1) for flag, word in itertools.pairwise(command) if flag == "--conf")
    assert resolve(spark_conf=conf) == resolve(
        spark_conf={
            "spark.headgate.parallelism.default": "3",
            "spark.headgate.execution.state-recovery.path": "/save",
            "spark.headgate.execution.state-recovery.ignore-unclaimed-state": "true",
            "spark.headgate.execution.state-recovery.claim-mode": "CLAIM",
            "spark.headgate.rest.enabled": "false",
        }
    )


def test_code_that_goes_along_is_named_as_flink_has_it(program: str) -> None:
    words = ["-pyfs", "shop.py", "-pyarch", "env.zip#env", "-pyreq", "needs.txt", "-pyexec", "env/bin/python"]
    settings = [word for word in submitted(*words, program) if word.startswith("spark.headgate.")]
    assert settings == [
        "spark.headgate.python.files=shop.py",
        "spark.headgate.python.archives=env.zip#env",
        "spark.headgate.python.requirements=needs.txt",
        "spark.headgate.python.executable=env/bin/python",
    ]


def test_the_program_gets_its_own_arguments_and_settings_that_only_it_knows(program: str) -> None:
    command = submitted("-D", "my.own=1", program, "--input", "x", "-p", "9")
    assert command[-6:] == [program, "--input", "x", "-p", "9", "-Dmy.own=1"]


def test_without_spark_submit_the_error_says_where_it_was_looked_for(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    done = headgate("run", "--spark-submit", "", program)
    assert done.code == ExitCode.FAILED
    assert "not found in SPARK_HOME" in done.err
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "not found on the PATH" in headgate("run", "--spark-submit", "", program).err


@pytest.mark.parametrize("flag", ["-py", "--python"])
def test_the_program_is_given_as_in_flink_too(program: str, flag: str) -> None:
    assert submitted(flag, program, "x")[-2:] == [program, "x"]


@pytest.mark.parametrize("flag", ["-s", "--fromSavepoint"])
def test_flinks_spellings_are_understood(program: str, flag: str) -> None:
    assert "spark.headgate.execution.state-recovery.path=/save" in submitted(flag, "/save", program)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "Missing argument 'FILE'"),
        (["/nowhere/job.py"], "there is no file /nowhere/job.py"),
        (["-D", "novalue", "JOB"], "-D novalue is not a setting"),
        (["-p", "0", "JOB"], "-p"),
        (["-rm", "TAKE", "JOB"], "TAKE"),
        (["-d", "--spark-submit", "", "JOB"], "--detached is for programs on this machine"),
    ],
)
def test_wrong_usage_is_told(program: str, words: list[str], what: str) -> None:
    done = headgate("run", *(program if word == "JOB" else word for word in words))
    assert done.code == ExitCode.USAGE
    assert what in done.err


def test_settings_of_the_command_are_weaker_than_those_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    option = REGISTRY.find("parallelism.default")
    assert option is not None
    monkeypatch.setattr(sys, "argv", ["job.py", "-Dparallelism.default=2"])
    arguments.give(["-Dparallelism.default=5", "-Dpipeline.name=x"])
    try:
        settings = resolve({}, arguments.command_line())
    finally:
        arguments.give([])
    assert settings.get(option) == 2
    assert "pipeline.name" not in settings.others


def test_the_help_names_the_claim_modes_that_there_are() -> None:
    assert "[NO_CLAIM|CLAIM]" in headgate("run", "--help").out


def test_a_command_loads_nothing_that_only_others_need() -> None:
    program = "import sys; from headgate.cli.main import main; sys.exit = lambda code: print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; main(['pack', '--help'])"], capture_output=True, text=True, check=True
    )
    assert {"httpx", "pyarrow", "headgate.common"}.isdisjoint(done.stdout.split())


def test_a_name_that_is_nearly_one_of_a_command_is_told_the_command() -> None:
    done = headgate("savpoint")
    assert done.code == ExitCode.USAGE
    assert "Did you mean 'savepoint'?" in done.err


def test_the_help_lists_all_commands() -> None:
    listed = headgate("--help").out.partition("Commands:")[2].partition("Exit codes:")[0]
    commands = "cancel checkpoint checkpoints describe list pack rescale run savepoint state stop top ui"
    assert re.findall(r"^  (\w+)", listed, re.MULTILINE) == commands.split()
