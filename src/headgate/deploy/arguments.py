"""How the program was started: its command line, what `headgate run` was given for it, and whether by spark-submit."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

_given: Final[list[str]] = []


def give(arguments: Sequence[str]) -> None:
    """Have the program that runs in this process get these settings (`-Dkey=value`), without seeing them in argv."""
    _given[:] = arguments


def command_line() -> list[str]:
    """Return the arguments that settings are read from. What the program itself is called with is the strongest."""
    return [*_given, *sys.argv[1:]]


def is_submitted() -> bool:
    """Return whether spark-submit has started this process; it then has settings and a master for the session."""
    return "PYSPARK_GATEWAY_PORT" in os.environ
