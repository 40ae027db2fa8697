"""The command that shows a job on the terminal, drawn anew each second."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast, final

import click

from headgate.cli.client import DriverClient, UnreachableError, ask
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.find import FoundJob, chosen_job, find_job
from headgate.cli.options import storage_option
from headgate.runtime.monitoring.statistics_json import Json

if TYPE_CHECKING:
    from rich.console import Console


@final
class Following:
    """The newest overview of a job, and how the job has ended."""

    def __init__(self, client: DriverClient, job_id: str) -> None:
        """Begin to listen; closing the client ends it."""
        self.newest: Json | None = None
        self.ending: Json | None = None
        """The final state of the job and its cause, as far as they are known; None while the job runs."""
        self._error: CommandFailedError | UnreachableError | None = None
        threading.Thread(target=self._run, args=(client, job_id), name="headgate-top", daemon=True).start()

    def check(self) -> None:
        """Raise the refusal of the driver, or UnreachableError when the connection has ended without a result."""
        if self._error is not None:
            raise self._error

    def _run(self, client: DriverClient, job_id: str) -> None:
        try:
            for name, told in client.events(f"/jobs/{job_id}/live"):
                if name == "overview":
                    self.newest = told
                else:
                    self.ending = told
            self._error = None if self.ending is not None else UnreachableError("it closed the connection")
        except (CommandFailedError, UnreachableError) as error:
            self._error = error
        except Exception as error:  # noqa: BLE001  # a client that is closed while it reads may raise anything
            self._error = UnreachableError(str(error))


LOOK_S: Final = 0.1
QUIT: Final = "q"
NO_PATH: Final = "there is no path"
"""The answer of a driver that does not serve the page."""


@click.command()
@click.argument("job", required=False)
@click.option("--once", is_flag=True, help="Draw one frame and end. This is the default in a pipe.")
@storage_option
def top(job: str | None, once: bool, storage: str | None) -> None:
    """Show JOB on the terminal: its operators, findings and checkpoints. Press q to quit.

    Without JOB: the job that runs here, or one that you choose. Keys sort the operators by a column.

    \b
    Examples:
      headgate top word-count
      headgate top --once 1f0c52
    """
    from rich.console import Console  # noqa: PLC0415  # rich takes long to load

    from headgate.cli.frame import Shape, drawn  # noqa: PLC0415

    found = chosen_job(storage) if job is None else find_job(job, storage)
    console = Console(highlight=False)
    seen = ask(found, lambda client: _overview(client, found))
    if once or not (sys.stdin.isatty() and console.is_terminal):
        console.print(drawn(seen, Shape(width=console.width)))
    else:
        ask(found, lambda client: _follow(client, found, console))


def _overview(client: DriverClient, job: FoundJob) -> Json:
    try:
        return cast("Json", client.get(f"/jobs/{job.job_id}/overview"))
    except CommandFailedError as error:
        if NO_PATH not in str(error):
            raise
        raise CommandFailedError(
            ExitCode.FAILED,
            f"the driver of job {job.job_id} has no overview to show: it runs with headgate.web.enabled=false",
        ) from None


def _follow(client: DriverClient, job: FoundJob, console: Console) -> None:
    """Draw until q is pressed or the job ends; then leave the last frame, and print how the job ended."""
    from rich.live import Live  # noqa: PLC0415

    from headgate.cli.frame import ORDERS, PLAN_ORDER, Shape, drawn  # noqa: PLC0415

    following = Following(client, job.job_id)
    order, shown = PLAN_ORDER, None
    with _keys(), Live(console=console, screen=True, auto_refresh=False) as live:
        while following.ending is None:
            following.check()
            key = _pressed(LOOK_S)
            if key == QUIT:
                return
            order = key if key in ORDERS else order
            seen, shape = following.newest, Shape(width=console.width, height=console.height, order=order)
            if seen is not None and (seen, shape) != shown:
                live.update(drawn(seen, shape), refresh=True)
                shown = seen, shape
    if following.newest is not None:
        console.print(drawn(following.newest, Shape(width=console.width)))
    cause = following.ending.get("cause")
    click.echo(f"Job {job.job_id} has ended {following.ending.get('state', '')}{'' if cause is None else f': {cause}'}")


@contextmanager
def _keys() -> Iterator[None]:
    """Have single keys reach the program while the block runs, without Enter."""
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _pressed(timeout_s: float) -> str:
    """Block until a key is pressed or the timeout is over; return the key, "" for none. A closed terminal is q."""
    ready, _, _ = select.select([sys.stdin], [], [], timeout_s)
    return (os.read(sys.stdin.fileno(), 1).decode(errors="replace") or QUIT) if ready else ""
