"""Draws one frame of a job's overview for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headgate.cli.formatting import size
from headgate.runtime.monitoring.statistics_json import Json

PLAN_ORDER: Final = "p"
ORDERS: Final[dict[str, tuple[str, Callable[[Json], float | None]]]] = {
    PLAN_ORDER: ("plan", lambda vertex: 0),
    "b": ("busy", lambda vertex: vertex["busy"]["max"]),
    "h": ("held", lambda vertex: vertex["backPressured"]["max"]),
    "i": ("in", lambda vertex: vertex["in"]),
    "o": ("out", lambda vertex: vertex["out"]),
    "w": ("watermark", lambda vertex: vertex["watermarkLag"]),
    "s": ("state", lambda vertex: vertex["stateBytes"]),
}
"""The keys that sort operators, each with the name of the order and the figure to sort by, largest first."""
_BAR: Final = 10
_FINDINGS_MAX: Final = 5
_LEAST: Final = 4
"""Least lines for operators: the names of columns, one operator, the number of further ones, and the keys."""
_WIDE: Final = 110
"""Width of a terminal from which the columns of bytes are shown."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of a frame, and the key of the order of its operators. `height` None: the frame has any height."""

    width: int = 80
    height: int | None = None
    order: str = PLAN_ORDER


@final
@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    cell: Callable[[Json], RenderableType]
    order: str = ""
    least_width: int = 0


def drawn(seen: Json, shape: Shape) -> Group:
    """Return a frame of a job's overview, of the width and, if there is one, the height of `shape`."""
    top = [_head(seen), _checkpoints(seen["checkpoints"]), *_notes(seen)]
    if shape.height is None:
        return Group(*top, _operators(seen["vertices"], shape))
    top = top[: max(2, shape.height - _LEAST)]
    for line in top:
        line.no_wrap, line.overflow = True, "ellipsis"
    ordered = sorted(seen["vertices"], key=lambda vertex: -(ORDERS[shape.order][1](vertex) or 0))
    room = shape.height - len(top) - 2  # below the names of columns, above the keys
    if len(ordered) <= room:
        return Group(*top, _operators(ordered, shape), _keys(shape.order))
    more = Text(f"... and {len(ordered) - room + 1} more", style="dim")
    return Group(*top, _operators(ordered[: room - 1], shape), more, _keys(shape.order))


def _head(seen: Json) -> Text:
    parts = [f"{seen['name']} {seen['state']}", f"attempt {seen['attempt']}", f"{seen['slots']} slots"]
    if seen["runningSince"] is not None:
        parts.insert(1, f"for {_seconds(seen['now'] - seen['runningSince'])}")
    if seen["restarts"]:
        parts.append(f"{seen['restarts']} restart{'' if seen['restarts'] == 1 else 's'}")
    return Text(" | ".join(parts), style="bold")


def _checkpoints(found: Json) -> Text:
    latest = found["latest"]
    counts = f"{found['completed']} checkpoints, {found['failed']} failed"
    if latest is None:
        return Text(f"{counts}, none complete yet")
    took = f"took {latest['duration']} ms, {size(latest['size'])}"
    return Text(f"{counts} | newest {latest['id']}: {_seconds(latest['age'])} ago, {took}")


def _notes(seen: Json) -> list[Text]:
    failure = seen["newestFailure"]
    failed = [] if failure is None else [Text(f"failed {_seconds(failure['age'])} ago: {failure['text']}", style="dim")]
    return failed + [
        Text(f"{_sign(each)} {each['text']}", style=_style(each)) for each in seen["findings"][:_FINDINGS_MAX]
    ]


def _sign(finding: Json) -> str:
    return "x" if finding["severity"] == "bad" else "!"


def _style(finding: Json) -> str:
    return "red" if finding["severity"] == "bad" else "yellow"


def _operators(vertices: list[Json], shape: Shape) -> Table:
    columns = [column for column in _COLUMNS if shape.width >= column.least_width]
    table = Table(expand=True, box=None, pad_edge=False)
    table.add_column("OPERATORS", ratio=1, no_wrap=True, overflow="ellipsis")
    for column in columns:
        is_first = column.order == shape.order
        table.add_column(column.name, justify="right", no_wrap=True, header_style="reverse" if is_first else "")
    for vertex in vertices:
        table.add_row(Text(vertex["name"]), *[column.cell(vertex) for column in columns])
    return table


def _keys(order: str) -> Text:
    """Return the line that explains the keys."""
    line = Text("q quit | by ", style="dim", no_wrap=True, overflow="ellipsis")
    for key, (name, _) in ORDERS.items():
        line.append(f"{key} {name} ", style="bold" if key == order else "")
    return line


def _bar(vertex: Json) -> Text:
    """Return where the time of a vertex goes, on average: busy, backpressured, and idle."""
    busy = round((vertex["busy"]["avg"] or 0.0) * _BAR)
    held = min(round((vertex["backPressured"]["avg"] or 0.0) * _BAR), _BAR - busy)
    return Text.assemble(("#" * busy, "red"), ("=" * held, "yellow"), ("." * (_BAR - busy - held), "dim"))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _rate(figure: float) -> str:
    return f"{figure:,.0f}"


def _or_none(figure: Any, written: Callable[[Any], str | None]) -> str:
    return "-" if figure is None else str(written(figure))


def _seconds(ms: float) -> str:
    s = max(0.0, ms) / 1000
    return f"{s:.1f} s" if s < 60 else f"{s / 60:.0f} min" if s < 7200 else f"{s / 3600:.0f} h"


_COLUMNS: Final = (
    _Column("N", lambda vertex: str(vertex["parallelism"])),
    _Column("BUSY", lambda vertex: _percent(vertex["busy"]["max"]), "b"),
    _Column("#BUSY=HELD", _bar),
    _Column("HELD", lambda vertex: _percent(vertex["backPressured"]["max"]), "h"),
    _Column("IN/S", lambda vertex: _rate(vertex["in"]), "i"),
    _Column("OUT/S", lambda vertex: _rate(vertex["out"]), "o"),
    _Column("BYTES IN/S", lambda vertex: _or_none(vertex["bytesIn"], size), least_width=_WIDE),
    _Column("BYTES OUT/S", lambda vertex: _or_none(vertex["bytesOut"], size), least_width=_WIDE),
    _Column("BEHIND", lambda vertex: _or_none(vertex["watermarkLag"], _seconds), "w"),
    _Column("STATE", lambda vertex: _or_none(vertex["stateBytes"], size), "s"),
)
"""Shares of time are of the busiest subtask; the bar is the average of all subtasks."""
