"""The output of commands: JSON for programs, tables for people, and the texts for times and sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import click

_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_KILO: Final = 1024


def print_json(document: object) -> None:
    """Print a document for programs."""
    click.echo(json.dumps(document, indent=2, default=str))


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in columns below their names."""
    cells = [list(head), *[[_cell(value) for value in row] for row in rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def moment(time_ms: int | None) -> str | None:
    """Return a time of the wall clock, local.

    >>> moment(None) is None
    True
    """
    if time_ms is None or time_ms < 0:
        return None
    return datetime.fromtimestamp(time_ms / 1000.0).isoformat(" ", "seconds")


def length(time_ms: float | None) -> str | None:
    """Return a length of time, None for a negative one, which stands for one that is not known.

    >>> length(87), length(4200), length(3_723_000), length(-1)
    ('87 ms', '4.2 s', '1:02:03', None)
    """
    if time_ms is None or time_ms < 0:
        return None
    if time_ms < 1000:
        return f"{time_ms:.0f} ms"
    seconds = time_ms / 1000.0
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 3600)}:{int(seconds // 60 % 60):02}:{int(seconds % 60):02}"


def size(size_bytes: float | None) -> str | None:
    """Return a size.

    >>> size(0), size(1536), size(3 * 2**30)
    ('0 B', '1.5 kB', '3.0 GB')
    """
    if size_bytes is None:
        return None
    amount, unit = float(size_bytes), 0
    while amount >= _KILO and unit < len(_UNITS) - 1:
        amount, unit = amount / _KILO, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{amount:.0f} B"
