"""The command that runs a program: here, in the background, or through spark-submit."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, final

import click

from headgate import options
from headgate.checkpoint.drivers.address import RunDirectory
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.formatting import print_json
from headgate.cli.options import json_option
from headgate.config import Option, from_command_line
from headgate.deploy import arguments
from headgate.errors import ConfigError, JobCancelledError, JobFailedError, JobSuspendedError
from headgate.runtime.monitoring.statistics_json import Json

_POLL_S: Final = 0.05
_LOG_LINES: Final = 20
_LOG_BYTES: Final = 16_384
_VALUES: Final[dict[str, Option[object]]] = {
    "parallelism": options.PARALLELISM,
    "snapshot": options.RECOVERY_PATH,
    "claim_mode": options.CLAIM_MODE,
    "files": options.PYTHON_FILES,
    "archives": options.PYTHON_ARCHIVES,
    "requirements": options.PYTHON_REQUIREMENTS,
    "executable": options.PYTHON_EXECUTABLE,
}
"""Options of the command that are settings with another name."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFile:
    """A program to run: its file, its arguments, and the settings (`-Dkey=value`) that its jobs get."""

    file: str
    arguments: tuple[str, ...]
    settings: tuple[str, ...]


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("-s", "--fromSavepoint", "snapshot", metavar="PATH", help="Savepoint or checkpoint to start from.")
@click.option(
    "-n",
    "--allowNonRestoredState",
    "ignores_unclaimed",
    is_flag=True,
    help="Drop the state of operators that the program no longer has.",
)
@click.option(
    "-rm",
    "--restoreMode",
    "-claim",
    "--claimMode",
    "claim_mode",
    type=click.Choice(["NO_CLAIM", "CLAIM", "LEGACY"], case_sensitive=False),
    metavar="[NO_CLAIM|CLAIM]",  # LEGACY is refused later, with a reason, however it is set
    help="Whether the job owns the snapshot that it starts from, and deletes it in time. [default: NO_CLAIM]",
)
@click.option("-p", "--parallelism", type=click.IntRange(1), help="Parallelism of operators that set none.")
@click.option("-D", "definitions", metavar="KEY=VALUE", multiple=True, help="A setting. May be repeated.")
@click.option("-pyfs", "--pyFiles", "files", metavar="PATHS", help="Modules, folders, archives that slots import from.")
@click.option("-pyarch", "--pyArchives", "archives", metavar="PATHS", help="Archives unpacked where slots work.")
@click.option("-pyreq", "--pyRequirements", "requirements", metavar="PATH", help="Requirements installed for slots.")
@click.option("-pyexec", "--pyExecutable", "executable", metavar="PATH", help="Python that runs the slots.")
@click.option(
    "-d", "--detached", is_flag=True, help="Return when the job is submitted; the job runs on in the background."
)
@click.option("--log", type=click.Path(dir_okay=False), help="With --detached: file for the output of the program.")
@click.option("--spark-submit", metavar="OPTIONS", help="Run the program through spark-submit with these options.")
@click.option("--print", "prints", is_flag=True, help="With --spark-submit: only print the command.")
@click.option("-py", "--python", "file", metavar="FILE", help="The program, given as for Flink.")
@click.argument("command", metavar="FILE [ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@json_option
def run(command: tuple[str, ...], file: str | None, definitions: Sequence[str], **given: Any) -> None:
    """Run the program FILE with its ARGUMENTS; its jobs get the settings given here.

    Settings in the program override them. Put options of `headgate run` before FILE.

    \b
    Examples:
      headgate run -p 4 job.py --input /data/orders
      headgate run -s /data/savepoints/savepoint-1f0c52-9a8b7c6d5e4f job.py
      headgate run -d -D headgate.storage.dir=/data/headgate job.py
      headgate run --spark-submit "--master yarn --deploy-mode cluster" job.py
    """
    words = command if file is None else (file, *command)
    if not words:
        raise click.UsageError("Missing argument 'FILE': the program to run.")
    program = ProgramFile(file=words[0], arguments=words[1:], settings=_settings(definitions, given))
    if not os.path.isfile(program.file):
        raise click.UsageError(f"there is no file {program.file}")
    if given["spark_submit"] is not None:
        if given["detached"]:
            raise click.UsageError("--detached is for programs on this machine; spark-submit has options of its own")
        _submit(program, shlex.split(given["spark_submit"]), prints=given["prints"])
    elif given["detached"]:
        _run_detached(program, given["log"], given["as_json"])
    else:
        run_here(program)


def _settings(definitions: Sequence[str], given: Json) -> tuple[str, ...]:
    """Return the options as settings; later settings override earlier ones."""
    found = [f"-D{definition}" for definition in definitions]
    for definition in definitions:
        if "=" not in definition:
            raise click.UsageError(f"-D {definition} is not a setting: write -D key=value")
    for name, option in _VALUES.items():
        if given[name] is not None:
            found.append(f"-D{option.key}={given[name]}")
    if given["ignores_unclaimed"]:
        found.append(f"-D{options.IGNORE_UNCLAIMED_STATE.key}=true")
    return tuple(found)


# --- in this process


def run_here(program: ProgramFile) -> None:
    """Run the program as `python FILE ARGUMENTS` would, in this process.

    Raises the errors of its jobs, CommandFailedError for a wrong setting, and SystemExit for any other error.

    The program is the module `__main__` from now on: its classes and functions are pickled under that name.
    """
    arguments.give([f"-D{options.REST_ENABLED.key}=true", *program.settings])
    path = os.path.abspath(program.file)
    module = ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    sys.argv = [program.file, *program.arguments]
    sys.path[0] = os.path.dirname(path)
    try:
        exec(compile(Path(path).read_bytes(), path, "exec"), module.__dict__)
    except (JobFailedError, JobCancelledError, JobSuspendedError, KeyboardInterrupt):
        raise
    except ConfigError as error:
        raise CommandFailedError(ExitCode.FAILED, str(error)) from error
    except Exception as error:  # noqa: BLE001  # whatever the program raises, shown as Python shows it
        trace = error.__traceback__
        traceback.print_exception(error.with_traceback(trace.tb_next if trace else None))
        sys.exit(ExitCode.FAILED)


# --- in the background


def _run_detached(program: ProgramFile, log: str | None, as_json: bool) -> None:
    RunDirectory.of_user().read()  # raises for a folder in which the job would not be found
    command = [sys.executable, "-m", "headgate", "run", *program.settings, program.file, *program.arguments]
    if log is None:
        handle, log = tempfile.mkstemp(prefix="headgate-run-", suffix=".log")
        os.close(handle)
    with open(log, "ab") as out:
        begin = out.tell()
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    job_id = _await_job(child, log, begin)
    if as_json:
        print_json({"jid": job_id, "pid": child.pid, "log": log})
    else:
        click.echo(f"Job has been submitted with JobID {job_id}\nProcess {child.pid}, its output is in {log}")


def _await_job(child: subprocess.Popen[bytes], log: str, begin: int) -> str:
    """Block until the program runs a job; return the job's id. Raises CommandFailedError if the program ends before.

    The output of the program begins at byte `begin` of the log.
    """
    directory = RunDirectory.of_user()
    while True:
        ended = child.poll()
        for address in directory.read():
            if address.pid == child.pid:
                return address.job_id
        if ended is not None:
            code = ExitCode(ended) if ended in ExitCode.__members__.values() and ended else ExitCode.FAILED
            raise CommandFailedError(
                code, f"the program ended before it was seen to run a job. {log} ends with\n{_end(log, begin)}"
            )
        time.sleep(_POLL_S)


def _end(log: str, begin: int) -> str:
    with open(log, "rb") as file:
        file.seek(max(begin, os.path.getsize(log) - _LOG_BYTES))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-_LOG_LINES:])


# --- through spark-submit


def _submit(program: ProgramFile, spark_options: Sequence[str], *, prints: bool) -> None:
    command = [_spark_submit(), *spark_options, *_as_conf(program.settings), program.file]
    command += [*program.arguments, *_unknown(program.settings)]
    if prints:
        click.echo(shlex.join(command))
    else:
        os.execv(command[0], command)


def _spark_submit() -> str:
    home = os.environ.get("SPARK_HOME")
    found = shutil.which("spark-submit", path=None if home is None else f"{home}/bin")
    if found is None:
        raise CommandFailedError(
            ExitCode.FAILED,
            f"spark-submit was not found {'on the PATH' if home is None else 'in SPARK_HOME'}: activate the "
            "environment that pyspark is installed in, or set SPARK_HOME to an installation of Spark",
        )
    return found


def _as_conf(settings: Sequence[str]) -> list[str]:
    """Return the settings as Spark's conf, which reaches drivers in a cluster and leaves the program's argv alone."""
    known = {key: value for key, value in from_command_line(settings).items() if options.REGISTRY.find(key)}
    return [word for key, value in known.items() for word in ("--conf", f"spark.headgate.{key}={value}")]


def _unknown(settings: Sequence[str]) -> list[str]:
    """Return settings that only the program's functions know: Spark's conf takes only settings of headgate."""
    given = from_command_line(settings)
    return [f"-D{key}={value}" for key, value in given.items() if options.REGISTRY.find(key) is None]
