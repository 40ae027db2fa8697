"""How the program was started: its command line, the settings of `headgate run`, and a start by spark-submit."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

_given: Final[list[str]] = []


def give(arguments: Sequence[str]) -> None:
    """Set arguments (`-Dkey=value`) that `command_line` returns in addition to `sys.argv`. Earlier ones are dropped."""
    _given[:] = arguments


def command_line() -> list[str]:
    """Return the arguments that settings are read from.

    Later arguments override earlier ones: the program's own win.
    """
    return [*_given, *sys.argv[1:]]


def is_submitted() -> bool:
    """Return whether spark-submit started this process. Its settings then include the master of the session."""
    return "PYSPARK_GATEWAY_PORT" in os.environ
