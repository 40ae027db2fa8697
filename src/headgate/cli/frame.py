"""A job on a terminal: one frame of what its overview has. Pure."""

from __future__ import annotations

from typing import Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from headgate.cli.output import size
from headgate.runtime.monitoring.statistics_json import Json

_BAR: Final = 10
_FINDINGS_MAX: Final = 5


def drawn(seen: Json) -> Group:
    """Return a frame: what an overview of a job has, as text of any width."""
    findings = [Text(f"{_sign(each)} {each['text']}", style=_style(each)) for each in seen["findings"][:_FINDINGS_MAX]]
    return Group(_head(seen), _checkpoints(seen["checkpoints"]), *findings, _operators(seen["vertices"]))


def _sign(finding: Json) -> str:
    return "x" if finding["severity"] == "bad" else "!"


def _style(finding: Json) -> str:
    return "red" if finding["severity"] == "bad" else "yellow"


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


def _operators(vertices: list[Json]) -> Table:
    table = Table(expand=True, box=None, pad_edge=False)
    table.add_column("OPERATORS", ratio=1, no_wrap=True, overflow="ellipsis")
    for name in ("N", "BUSY", "", "HELD", "IN/S", "OUT/S", "BEHIND", "STATE"):
        table.add_column(name, justify="left" if name == "" else "right", no_wrap=True)
    for each in vertices:
        table.add_row(
            Text(each["name"]),
            str(each["parallelism"]),
            _percent(each["busy"]["max"]),
            Text(_bar(each["busy"]["max"]), style="red"),
            _percent(each["backPressured"]["max"]),
            f"{each['in']:,.0f}",
            f"{each['out']:,.0f}",
            "-" if each["watermarkLag"] is None else _seconds(each["watermarkLag"]),
            size(each["stateBytes"]) or "-",
        )
    return table


def _bar(share: float | None) -> str:
    return f"{'#' * round((share or 0.0) * _BAR):{_BAR}}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _seconds(ms: float) -> str:
    s = max(0.0, ms) / 1000
    return f"{s:.1f} s" if s < 60 else f"{s / 60:.0f} min" if s < 7200 else f"{s / 3600:.0f} h"
