"""The command `headgate`, and how it ends: errors are one paragraph on stderr, and a meaningful exit code."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NoReturn, final

import click

from headgate import __version__
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.errors import ConfigError, HeadgateError, JobCancelledError, JobFailedError, JobSuspendedError

_EPILOG: Final = """\b
Exit codes:
  0  done
  1  failed, for none of the reasons below
  2  the command line is wrong
  3  no such job, or it has ended already
  4  the driver of the job is gone, or cannot be reached
  5  the job that `run` waited for has failed
  6  the job that `run` waited for was cancelled
  7  the job that `run` waited for is suspended: it continues when started again
  130  interrupted by Ctrl-C; a job that `run` waited for is cancelled, and a line says where it can go on
"""


_COMMANDS: Final = {
    "cancel": "jobs:cancel",
    "checkpoint": "checkpoints:checkpoint",
    "checkpoints": "checkpoints:checkpoints",
    "describe": "describe:describe",
    "list": "jobs:list_jobs",
    "pack": "pack:pack",
    "rescale": "rescale:rescale",
    "run": "run:run",
    "savepoint": "jobs:savepoint",
    "state": "state:state",
    "stop": "jobs:stop",
    "top": "top:top",
    "ui": "jobs:ui",
}
"""Module and function of each command."""


@final
class _Commands(click.Group):
    """Imports the module of a command when the command is used: to import all of them takes half a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for name in [cmd_name] if cmd_name in _COMMANDS else _COMMANDS:  # an unknown name: click suggests another
            module, _, function = _COMMANDS[name].partition(":")
            self.add_command(getattr(import_module(f"headgate.cli.{module}"), function), name)
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.version_option(__version__, prog_name="headgate")
def cli() -> None:
    """Run and operate streaming jobs.

    A job is named by its id, by the first digits of its id, or by its name. Jobs of this user on this machine are found
    automatically. To find other jobs, name their storage with --storage or HEADGATE_STORAGE_DIR.

    \b
    Examples:
      headgate run -p 4 job.py --input /data/orders
      headgate list
      headgate stop -p /data/savepoints word-count
      headgate run -s /data/savepoints/savepoint-1f0c52-9a8b7c6d5e4f job.py
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line `arguments`, by default the arguments of this process, and exit."""
    try:
        sys.exit(cli.main(arguments, prog_name="headgate", standalone_mode=False) or ExitCode.OK)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        from headgate.common.wait import is_reported  # noqa: PLC0415  # slow to import; only `run` has done so

        if not (is_reported(error) or is_reported(error.__cause__)):
            click.echo("headgate: interrupted", err=True)
        sys.exit(128 + signal.SIGINT)
    except HeadgateError as error:
        click.echo(f"headgate: {error}", err=True)
        sys.exit(code_of(error))


def code_of(error: HeadgateError) -> int:
    """Return the exit code that an error ends the command with."""
    match error:
        case CommandFailedError():
            return error.code
        case ConfigError():
            return ExitCode.USAGE
        case JobFailedError():
            return ExitCode.JOB_FAILED
        case JobCancelledError():
            return ExitCode.JOB_CANCELLED
        case JobSuspendedError():
            return ExitCode.JOB_SUSPENDED
        case _:
            return ExitCode.FAILED
