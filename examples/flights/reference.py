"""The same alerts once more, independently: one pass over the CSV in plain Python, without headgate or Spark."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

MISSING = ("", "NA")


class Alert(NamedTuple):
    """One alert; the fields are those of the job's output."""

    tailnum: str
    day: str
    carrier: str
    flight: int
    delay: int
    departures: int
    mean_delay: float


def expected_alerts(flights_csv: Path) -> list[Alert]:
    """Return all alerts, sorted."""
    seen: dict[str, list[int]] = {}
    found: list[Alert] = []
    with flights_csv.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["dep_delay"] in MISSING or row["tailnum"] in MISSING:
                continue
            delay = int(row["dep_delay"])
            aircraft = seen.setdefault(row["tailnum"], [0, 0, 0])
            aircraft[0] += 1
            aircraft[1] += delay
            aircraft[2] = aircraft[2] + 1 if delay > 60 else 0
            if aircraft[2] == 3:
                day = f"{row['year']}-{int(row['month']):02}-{int(row['day']):02}"
                mean = aircraft[1] / aircraft[0]
                found.append(Alert(row["tailnum"], day, row["carrier"], int(row["flight"]), delay, aircraft[0], mean))
    return sorted(found)
