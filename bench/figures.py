"""Figures: what a run of the benchmark found, next to what was promised; as a table and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class Target:
    """A bound on a value: at least `least`, or at most `most`."""

    least: float | None = None
    most: float | None = None

    def met_by(self, value: float) -> bool:
        """Return whether a value is within the bound."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        return f">= {self.least:g}" if self.least is not None else f"<= {self.most:g}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One row. `value` is the one that the target, if any, is about; `of_runs` are the values it is the median of."""

    row: str
    what: str
    value: float
    unit: str
    target: Target | None = None
    of_runs: tuple[float, ...] = ()
    note: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.target.met_by(self.value)


COLUMNS = ("row", "what", "value", "unit", "runs", "target", "ok", "note")


def cells(figure: Figure) -> tuple[str, ...]:
    """Return a figure's row of the table, in the order of `COLUMNS`."""
    runs = f"{shown(min(figure.of_runs))} .. {shown(max(figure.of_runs))}" if len(figure.of_runs) > 1 else ""
    target = "" if figure.target is None else str(figure.target)
    ok = {None: "", True: "yes", False: "MISSED"}[figure.ok]
    return figure.row, figure.what, shown(figure.value), figure.unit, runs, target, ok, figure.note


def shown(value: float) -> str:
    """Return a number in three digits or so.

    >>> shown(2_345_678.0), shown(0.6512), shown(12.345), shown(1.2345)
    ('2,346 k', '0.651', '12.3', '1.23')
    """
    if value >= 10_000:
        return f"{value / 1_000:,.0f} k"
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def table(figures: Sequence[Figure]) -> str:
    """Return figures as a table for a terminal."""
    rows = [COLUMNS, *map(cells, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def markdown(figures: Sequence[Figure]) -> str:
    """Return figures as a table in Markdown."""
    rows = [COLUMNS, ("---",) * len(COLUMNS), *map(cells, figures)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def as_json(figures: Sequence[Figure], run: dict[str, Any]) -> dict[str, Any]:
    """Return a run as plain data."""
    return {"run": run, "figures": [asdict(figure) | {"ok": figure.ok} for figure in figures]}


def machine() -> dict[str, Any]:
    """Return what a reader needs to know of the machine and the time of a run."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_before": load(),
        "python": platform.python_version(),
        "system": platform.system(),
        "pyspark": version_of("pyspark"),
    }


def load() -> float:
    """Return how many processes wanted a core in the last minute."""
    return round(os.getloadavg()[0], 2)


def cpu_name() -> str:
    """Return the model of the processor, as far as the system tells."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def version_of(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
