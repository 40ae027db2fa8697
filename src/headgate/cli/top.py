"""The command that shows a job on the terminal, drawn anew each second."""

from __future__ import annotations

import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from headgate.cli.client import DriverClient, ask
from headgate.cli.find import find_job
from headgate.cli.options import storage_option

EVERY_S: Final = 1.0


@click.command()
@click.argument("job")
@click.option("--once", is_flag=True, help="Draw one frame and end, as in a pipe.")
@storage_option
def top(job: str, once: bool, storage: str | None) -> None:
    """Show JOB on the terminal: its operators, what stands out, its checkpoints. q ends it.

    \b
    Examples:
      headgate top word-count
      headgate top --once 1f0c52
    """
    from rich.console import Console  # noqa: PLC0415  # rich takes long to load
    from rich.live import Live  # noqa: PLC0415

    from headgate.cli.frame import drawn  # noqa: PLC0415

    found = find_job(job, storage)
    console = Console(highlight=False)
    path = f"/jobs/{found.job_id}/overview"

    def follow(client: DriverClient) -> None:
        if once or not (sys.stdin.isatty() and console.is_terminal):
            console.print(drawn(client.get(path)))
            return
        with keys(), Live(drawn(client.get(path)), console=console, screen=True, auto_refresh=False) as live:
            while not pressed("q", EVERY_S):
                live.update(drawn(client.get(path)), refresh=True)

    ask(found, follow)


@contextmanager
def keys() -> Iterator[None]:
    """Have single keys reach the program while the block runs, without Enter."""
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def pressed(key: str, timeout_s: float) -> bool:
    """Block until a key is pressed, but no longer than the timeout; return whether it is this one."""
    ready, _, _ = select.select([sys.stdin], [], [], timeout_s)
    return bool(ready) and sys.stdin.read(1) == key
