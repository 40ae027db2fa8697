"""The page of figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from string import Template

import frames
from queries import NAMES


@dataclass(frozen=True)
class Setting:
    """What was measured on, and how many events each engine had."""

    machine: str
    events: dict[str, int]


@dataclass(frozen=True)
class Figure:
    """What was measured of a query: events in a second of CPU time, the seconds to start, or why nothing was."""

    engine: str
    query: str
    rate: float
    start_s: float
    failure: str | None


FRAMES = "DataFrame"
"""The engine of the programs of DataFrames, which have a table of their own."""
TEXT = Path(__file__).with_name("page.md")


def page(setting: Setting, figures: Sequence[Figure]) -> str:
    """Return the page."""
    failed = [figure for figure in figures if figure.failure and figure.engine != FRAMES]
    failures = [f"- {figure.query} on {figure.engine}: {figure.failure}." for figure in failed]
    engines = [name for name in setting.events if name != FRAMES]
    return Template(TEXT.read_text()).substitute(
        machine=setting.machine,
        table=_table(engines, NAMES, figures),
        frames=_table([FRAMES, *engines], frames.NAMES, figures),
        failures="\n".join(["\nA dash is a query without a figure:\n", *failures, ""]) if failures else "",
        events=", ".join(f"{count:,} for {name}" for name, count in setting.events.items()),
    )


def _table(engines: list[str], queries: list[str], figures: Sequence[Figure]) -> str:
    ran = [figure for figure in figures if figure.failure is None]
    rates = {(figure.engine, figure.query): figure.rate for figure in ran}
    own, others = engines[0], engines[1:]
    lines = [f"| | {own} |" + "".join(f" {name} | times |" for name in others), "|---|--:|" + "--:|--:|" * len(others)]
    for query in queries:
        rate = rates.get((own, query))
        cells = [_rounded(rate)]
        for name in others:
            other = rates.get((name, query))
            cells += [_rounded(other), _rounded(rate / other if rate and other else None)]
        lines.append(f"| {query} | {' | '.join(cells)} |")
    starts = [
        median([f.start_s for f in figures if f.engine == name and f.failure is None] or [0.0]) for name in engines
    ]
    lines.append(f"| start | {starts[0]:.1f} s |" + "".join(f" {start_s:.1f} s | |" for start_s in starts[1:]))
    return "\n".join(lines)


def _rounded(rate: float | None) -> str:
    """Return a number with two digits that count; a dash for none."""
    return f"{float(f'{rate:.2g}'):,.12g}" if rate else "-"
