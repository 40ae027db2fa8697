"""The command `headgate`, and how it ends: errors are one paragraph on stderr, and a meaningful exit code."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from headgate import __version__
from headgate.cli.checkpoints import checkpoint, checkpoints
from headgate.cli.describe import describe
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.jobs import cancel, list_jobs, savepoint, stop, ui
from headgate.cli.pack import pack
from headgate.cli.rescale import rescale
from headgate.cli.run import run
from headgate.cli.state import state
from headgate.cli.top import top
from headgate.common.wait import is_reported
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


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
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


_COMMANDS: Final = (
    *(run, pack, list_jobs, describe, savepoint, stop, cancel),
    *(rescale, checkpoints, checkpoint, state, ui, top),
)

for _command in _COMMANDS:
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line `arguments`, by default the arguments of this process, and exit."""
    try:
        sys.exit(cli.main(arguments, prog_name="headgate", standalone_mode=False) or ExitCode.OK)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
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
