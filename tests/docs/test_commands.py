"""Every command of `headgate` in a page is one that it understands."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from headgate.cli.main import cli
from tests.docs.blocks import PAGES

_SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def commands() -> list[str]:
    """The lines of the pages' shell blocks that call it, without comments."""
    lines = [line for page in PAGES for block in _SHELL.findall(page.read_text()) for line in block.splitlines()]
    return sorted({line.partition(" #")[0].strip() for line in lines if line.startswith("headgate ")})


def check(words: list[str]) -> None:
    """Raise unless the command line is understood. Runs nothing."""
    name, command, rest = cli.resolve_command(click.Context(cli), words)
    assert command is not None
    command.make_context(name, rest)


@pytest.mark.parametrize("command", commands())
def test_commands_in_pages_are_understood(command: str) -> None:
    check(shlex.split(command)[1:])


def test_a_command_that_is_not_understood_is_found() -> None:
    with pytest.raises(click.UsageError):
        check(["stop", "--savepoint-path", "x", "job"])
