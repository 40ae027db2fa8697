"""Results of a query in a file: each line is a row, and how often it is added, or taken back by a number below zero."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def add(path: Path, rows: Iterable[Any], times: int = 1) -> None:
    """Add rows to the file."""
    with path.open("a") as file:
        for row in rows:
            file.write(json.dumps([times, [plain(value) for value in row]]) + "\n")


def plain(value: Any) -> Any:
    """Return a time in UTC as milliseconds since 1970, and another value as it is."""
    if isinstance(value, dt.datetime):
        return round(value.replace(tzinfo=dt.UTC).timestamp() * 1000)
    return value


def read(path: Path) -> Counter[tuple[Any, ...]]:
    """Return the rows that are left of those in the file, in the order in which they were last added."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for line in path.read_text().splitlines():
        times, values = json.loads(line)
        row = tuple(values)
        rows[row] = rows.pop(row, 0) + times
    return +rows
